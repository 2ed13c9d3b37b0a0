"""What a run writes down about its problem: a few members, by which a problem that is handed over is recognised."""

from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from edgewise.learn.collocation import equation
from edgewise.problem import Problem
from edgewise.quadrature import rule_for
from edgewise.quadrature.discretisation import densities_of

MEMBERS, NODES = 3, 16
# Relative; in single precision and on other devices the last digits differ.
TOLERANCE = 1e-4


def take(problem: Problem) -> dict[str, Any]:
    """Positions and data at the nodes of three members, and what the equation makes of a fixed vector there."""
    members = problem.parameters.sample(jax.random.key(0), MEMBERS)
    given = {name: np.asarray(value, float).tolist() for name, value in members.items()}
    return {"parameters": given, **_values(problem, given)}


def compare(problem: Problem, stored: dict[str, Any], path: Path, name: str | None) -> None:
    """Raises if the problem is not the one that was written down, under this name."""
    cure = f"Hand over the problem it was trained for{f', `{name}`' if name else ''}."
    given = stored.get("parameters")
    names = set(problem.parameters.names)
    if not isinstance(given, dict) or set(given) != names:
        listed = ", ".join(sorted(given)) if isinstance(given, dict) else "none"
        raise ValueError(
            f"The run in `{path}` has the parameters {listed or 'none'}; the problem has "
            f"{', '.join(sorted(names)) or 'none'}. " + cure
        )
    try:
        found = _values(problem, given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The members written down in `{path}` do not fit this problem: {error}. {cure}") from None
    for what, values in found.items():
        try:
            expected = np.asarray(stored.get(what), float)
        except (TypeError, ValueError):
            expected = np.zeros(0)
        actual = np.asarray(values)
        size = np.max(np.abs(expected), initial=1e-300)
        if expected.shape != actual.shape or not np.max(np.abs(actual - expected)) <= TOLERANCE * size:
            raise ValueError(f"The run in `{path}` was trained for another problem: its {what} differs. {cure}")


def _values(problem: Problem, given: dict[str, list]) -> dict[str, list]:
    if any(len(value) != MEMBERS for value in given.values()):
        raise ValueError(f"expected {MEMBERS} values of each parameter")
    members = {name: jnp.asarray(value, float) for name, value in given.items()}
    boundary, data, rows = _look(problem, members, MEMBERS)
    parts = {"boundary": boundary, "data": data, "equation": rows}
    return {
        what: np.stack([np.real(part), np.imag(part)]).astype(float).round(12).tolist() for what, part in parts.items()
    }


@eqx.filter_jit
def _look(problem: Problem, members: dict[str, Any], count: int) -> tuple[Any, Any, Any]:
    if problem.family.in_space:
        return jax.vmap(lambda p: _on_surface(problem, p), axis_size=count)(members)

    def one(parameters):
        system = equation(problem, rule_for(problem.family, NODES), parameters, jnp.result_type(float))
        probe = jnp.cos(jnp.arange(system.matrix.shape[1]))
        return system.nodes.x, system.rhs, system.matrix @ probe

    return jax.vmap(one, axis_size=count)(members)


def _on_surface(problem: Problem, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Position and data of one member, and in place of the equation, which would need its panels, the layers of a fixed
    density and their kernel at a point far away."""
    member = problem.member(rule_for(problem.family, 4), parameters, jnp.result_type(float))
    boundary, representation = member.boundary, member.representation
    probe = jnp.cos(jnp.arange(boundary.x.shape[0]))
    density = representation.density(boundary, member.condition, probe)
    strengths = representation.strengths(member, density, jnp.zeros(0))
    far = jnp.array([3.0, 5.0, 7.0])
    waves = jax.vmap(lambda x: representation.kernel.fundamental(far - x))(boundary.x)
    parts = densities_of(strengths)
    few = slice(None, None, 7)
    return boundary.x[few], member.data[few], jnp.concatenate([waves[few], *(part[few] + 0j for part in parts)])
