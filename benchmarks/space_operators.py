"""An operator in space: half-balls, k = 2π, per geometry against `solve` and bempp-cl, and far fields of many members at once.

bempp-cl is not run here: its 64.5 s for 0.12 %, on one thread, are quoted from tests/data/README.md.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew
from benchmarks.harness import compete, medians
from benchmarks.space import BEMPP_SECONDS, STORED, T

MEMBERS = 1000
# As accurate as the operator: 3e-5.
NODES = 10


def run(quick: bool) -> dict[str, Any]:
    members, nodes, repeats = (20, 4, 0) if quick else (MEMBERS, NODES, 3)
    operator = ew.pretrained("helmholtz-halfballs")
    with np.load(STORED) as stored:
        member = int(np.argmin(np.abs(stored["t"] - T)))
        theta, weights, true = stored["theta"], stored["weights"], stored["far_axial"][member]
    directions = np.stack([np.sin(theta), 0 * theta, np.cos(theta)], axis=-1)
    drawn = operator.problem.parameters.sample(jax.random.key(0), members)

    def batch():
        return operator(**drawn).far_field(directions)

    def one():
        return operator(t=jnp.asarray(T)).far_field(directions)

    def solve():
        return ew.solve(operator.problem, t=T, quadrature=ew.Duffy(nodes), tol=1e-1).far_field(directions)

    seconds, values = compete({"batch": batch, "operator": one}, repeats)
    # Once: it takes seconds, of which the first call would be compilation.
    solved, answers = compete({"solve": solve}, min(repeats, 1))
    errors = {
        name: float(np.sqrt(weights @ np.abs(np.asarray(far) - true) ** 2 / (weights @ np.abs(true) ** 2)))
        for name, far in (("operator", values["operator"]), ("solve", answers["solve"]))
    }
    result = {"members": members, "directions": len(theta), "errors": errors}
    if quick:
        return result
    median = medians(seconds | solved)
    return {
        **result,
        "median": median,
        "quoted": {"bempp-cl": BEMPP_SECONDS},
        "ratio": median["solve"] / median["operator"],
        "required_ratio": 20.0,
        "ratio_in_a_batch": median["solve"] * members / median["batch"],
        "bempp_ratio": BEMPP_SECONDS / median["operator"],
        "required_bempp_ratio": 1000.0,
        "bempp_ratio_in_a_batch": BEMPP_SECONDS * members / median["batch"],
    }


def describe(result: dict[str, Any]) -> list[str]:
    errors = result["errors"]
    lines = [
        f"half-balls, t = {T}: far field by the operator to {errors['operator']:.1e}, by `solve` to {errors['solve']:.1e}"
    ]
    if "ratio" in result:
        median = result["median"]
        lines += [
            f"one geometry: operator {median['operator'] * 1e3:.1f} ms, `solve` {median['solve']:.2f} s ({result['ratio']:.0f} x), bempp-cl "
            f"{BEMPP_SECONDS} s for 1.2e-3, quoted ({result['bempp_ratio']:.0f} x)",
            f"{result['members']} members in {result['directions']} directions in one call: {median['batch']:.2f} s; per geometry `solve` "
            f"{result['ratio_in_a_batch']:.0f} x, bempp-cl {result['bempp_ratio_in_a_batch']:.0f} x",
        ]
    return lines
