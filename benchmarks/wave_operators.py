"""Operators of waves in the plane by `fit` without settings: bodies of several numbers, wavenumbers, every angle.

Errors are those of the far field of members that nobody has seen, against `solve`.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import edgewise as ew
from benchmarks.harness import without_compiling

DIRECTIONS = np.stack([wave(2 * np.pi * np.arange(48) / 48) for wave in (np.cos, np.sin)], axis=-1)


def lumpy(s: Array, c: Array) -> Array:
    """An ellipse of aspect 2 with lumps."""
    r = 1 + c @ jnp.cos(np.arange(2, 2 + len(c)) * s)
    return jnp.stack([r * jnp.cos(s), 0.5 * r * jnp.sin(s)])


def moved(s: Array, away: Array) -> Array:
    return jnp.stack([away + 0.5 * jnp.cos(s), 0.5 * jnp.sin(s)])


def waves(family: Any, wave: Any = "angle", **ranges: Any) -> ew.Problem:
    if wave == "angle":
        ranges["angle"] = ew.Angle()
    field = ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k"))
    return ew.Problem(family, ew.Box(**ranges), field, ew.PlaneWave(wave), "exterior")


def lumps(count: int) -> ew.Problem:
    return waves(ew.Curve(lumpy), c=(-0.1 * np.ones(count), 0.1 * np.ones(count)), k=(1.0, 4.0))


def cases() -> dict[str, ew.Problem]:
    ellipse = ew.Ellipse(1.0, "b")
    return {
        "a kite, k in [1, 5], every angle": waves(ew.Kite(0.65), k=(1.0, 5.0)),
        "a kite that bends from 0 to 0.65, k in [1, 5], every angle": waves(
            ew.Kite("bend"), bend=(0.0, 0.65), k=(1.0, 5.0)
        ),
        "two discs, 0.3 to 1 apart, k in [1, 3], every angle": waves(
            ew.Union(ew.Ellipse(1.0, 1.0), ew.Curve(moved)), away=(1.8, 2.5), k=(1.0, 3.0)
        ),
        "a hard ellipse of aspect 1 to 2.5, k in [1, 4], every angle": dataclasses.replace(
            waves(ellipse, b=(0.4, 1.0), k=(1.0, 4.0)), condition=ew.Neumann()
        ),
        "an ellipse of aspect 1 to 2.5, k in [1, 5], one wave": waves(ellipse, 0.0, b=(0.4, 1.0), k=(1.0, 5.0)),
        "a kite, k in [1, 5], a point source at (3, -1.5) to (3, 1.5)": dataclasses.replace(
            waves(ew.Kite(0.65), 0.0, k=(1.0, 5.0), h=(-1.5, 1.5)), data=ew.PointSource((3.0, "h"))
        ),
        "a lumpy ellipse of three coefficients of ±0.1, k in [1, 4], every angle": lumps(3),
        "the same, five coefficients": lumps(5),
    }


def run(quick: bool) -> dict[str, Any]:
    problems = cases()
    return {"cases": {name: _case(problems[name], quick) for name in list(problems)[: 1 if quick else None]}}


def _case(problem: ew.Problem, quick: bool) -> dict[str, Any]:
    recipe = ew.recipe("default", problem)
    if quick:
        recipe = dataclasses.replace(
            recipe,
            network=dataclasses.replace(recipe.network, p=12, harmonics=24),
            collocation=dataclasses.replace(recipe.collocation, members=24, nodes=64),
            validation=dataclasses.replace(recipe.validation, members=2, nodes=96),
        )
    operator, seconds = without_compiling(lambda: ew.fit(problem, recipe, progress=False))
    drawn = problem.parameters.sample(jax.random.key(77), 4 if quick else 40)
    found, true = (solution.far_field(DIRECTIONS) for solution in (operator(**drawn), ew.solve(problem, **drawn)))
    errors = jnp.linalg.norm(found - true, axis=1) / jnp.linalg.norm(true, axis=1)
    return {
        "kind": recipe.network.kind,
        "seconds": seconds,
        "median": float(jnp.median(errors)),
        "worst": float(jnp.max(errors)),
        "converged": operator.result.ok,
    }


def describe(result: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {case['kind']}, {case['seconds']:.0f} s, far field, median {case['median']:.1e}, worst {case['worst']:.1e}"
        + ("" if case["converged"] else "; says not converged")
        for name, case in result["cases"].items()
    ]
