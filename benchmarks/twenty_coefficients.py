"""A shape of twenty coefficients, r(s) = 1.2 + Σ a_m cos ms + b_m sin ms, m = 2 to 11, |a_m|, |b_m| <= 0.2/m; Laplace inside, data x².

Trained by `best` where there is a GPU, else by `default`.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import edgewise as ew
from benchmarks.harness import without_compiling
from edgewise.evaluation import measure

MODES = np.arange(2, 12)
LARGEST = 0.2 / MODES


def radius(s: Array, a: Array, b: Array) -> Array:
    return 1.2 + a @ jnp.cos(MODES * s) + b @ jnp.sin(MODES * s)


def problem() -> ew.Problem:
    return ew.Problem(
        family=ew.StarCurve(radius),
        parameters=ew.Box(a=(-LARGEST, LARGEST), b=(-LARGEST, LARGEST)),
        representation=ew.DoubleLayer(ew.Laplace(dim=2)),
        data=lambda x: x[0] ** 2,
        side="interior",
    )


def run(quick: bool) -> dict[str, Any]:
    shapes = problem()
    recipe = ew.recipe("best" if jax.devices()[0].platform == "gpu" else "default", shapes)
    if quick:
        recipe = dataclasses.replace(
            recipe,
            network=dataclasses.replace(recipe.network, p=300),
            collocation=dataclasses.replace(recipe.collocation, members=64),
        )
    operator, seconds = without_compiling(lambda: ew.fit(shapes, recipe))
    members = 2 if quick else 200
    errors = measure(operator(**shapes.parameters.sample(jax.random.key(7), members)), every_point=False).relative_l2
    return {
        "recipe": recipe.name,
        "seconds": seconds,
        "members": members,
        "median": float(np.median(errors)),
        "worst": float(np.max(errors)),
    }


def describe(result: dict[str, Any]) -> list[str]:
    return [
        f"recipe {result['recipe']}, {result['seconds']:.0f} s: field of {result['members']} members, relative l2, "
        f"median {result['median']:.1e}, worst {result['worst']:.1e}"
    ]
