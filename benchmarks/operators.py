"""Many members of the operator that ships against as many solves, to the density: what a query costs once it is trained."""

from typing import Any

import jax.numpy as jnp
import numpy as np

import edgewise as ew
from benchmarks.harness import compete, medians


def run(quick: bool) -> dict[str, Any]:
    members, repeats = (4, 1) if quick else (1000, 5)
    operator = ew.pretrained("laplace-quadratic")
    t = jnp.linspace(1, 2, members)

    def predicted():
        return operator(t=t).strengths[0].single

    def solved():
        return ew.solve(operator.problem, t=t, quadrature=operator.quadrature).strengths[0].single

    seconds, values = compete({"operator": predicted, "solve": solved}, repeats)
    median = medians(seconds)
    # Where they are read: the densities themselves differ more, in waves that no field shows.
    points = 0.3 * jnp.stack([jnp.cos(t), jnp.sin(t)], axis=-1)[:50]
    few = t[:: max(1, members // 10)]
    fields = operator(t=few)(points), ew.solve(operator.problem, t=few)(points)
    return {
        "members": members,
        "nodes": operator.quadrature.num_nodes,
        "seconds": seconds,
        "median": median,
        "ratio": median["solve"] / median["operator"],
        "difference": float(np.max(np.abs(fields[0] - fields[1])) / np.max(np.abs(fields[1]))),
        "difference_of_density": float(jnp.max(jnp.abs(values["operator"] - values["solve"]))),
    }


def describe(result: dict[str, Any]) -> list[str]:
    each = [f"{name} {1e3 * seconds / result['members']:.4f} ms" for name, seconds in result["median"].items()]
    return [
        f"{result['members']} members, {result['nodes']} nodes, to the density, each: {'; '.join(each)}",
        f"ratio {result['ratio']:.1f}; fields agree to {result['difference']:.0e} of the largest",
    ]
