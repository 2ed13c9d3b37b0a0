"""`Operator`: a trained network that answers with the solution of any member."""

import dataclasses
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.files import is_path
from edgewise.base.html import html
from edgewise.base.precision import is_concrete
from edgewise.base.result import Code, Result
from edgewise.learn.density import NeuralDensity, Reading
from edgewise.learn.networks import AbstractNetwork
from edgewise.learn.recipes import Recipe
from edgewise.learn.runs import describe, named_arrays, save_run
from edgewise.learn.tolerance import within
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, rule_for
from edgewise.solution import Solution
from edgewise.solving.systems import Answer
from edgewise.solving.validation import Values, check_curves, check_numbers
from edgewise.solving.validation_space import check_surfaces


@dataclasses.dataclass(frozen=True)
class FitResult:
    """How training ended: `ok` for a program, `str` for a person."""

    code: str
    """converged, unconverged, diverged or interrupted."""
    message: str

    @property
    def ok(self) -> bool:
        return self.code == "converged"

    def __str__(self) -> str:
        return self.message


@dataclasses.dataclass(frozen=True, eq=False)
class Operator:
    """The solution operator of a problem: parameters in, `Solution` out.

    A call without `tol` evaluates the network on the boundary and nothing else: no solve, no application of the
    equation, no look at the boundary data. A leading axis on any parameter makes a batch.
    """

    problem: Problem
    network: AbstractNetwork
    recipe: Recipe
    history: list[dict[str, Any]]
    """One record for every look at the validation members."""
    result: FitResult
    stats: dict[str, Any]
    """Steps, seconds, weights, errors on the validation members, device."""
    origin: dict[str, str] = dataclasses.field(default_factory=dict)
    """Where the problem comes from: a preset's name, or `file.py:name`."""
    seed: int = 0

    def __call__(
        self, *unnamed: Any, tol: float | None = None, extrapolate: bool = False, **parameters: Any
    ) -> Solution:
        """The solution of one member, or of a batch.

        Arguments:
            tol: The error that is allowed, in the unit of the field. Where the estimate of the network's answer is
                above it, the
                answer is refined until it is below; `stats` says where (`refined`), and the estimates (`error`).
            extrapolate: Allows parameters outside the box it was trained on. `result` says so, and `error_estimate()`
                how wrong
                the answer is there.
        """
        self.problem.parameters.check_named(unnamed, "operator(")
        values, count, batched = self.problem.parameters.members(
            parameters, extrapolate=extrapolate, dtype=network_dtype(self.network), caller="operator("
        )
        if is_concrete(*values.values()):
            check_numbers(self.problem, values)
            # Without it, what is outside the box was refused already.
            if extrapolate and not np.all(self.problem.parameters.holds(values, count)):
                check_curves(self.problem, values, count)
                check_surfaces(self.problem, values, count)
        solution = self._read(self.quadrature, values, count)
        if tol is not None:
            solution = within(solution, tol, lambda rule: self._read(rule, values, count))
        return solution if batched else solution[0]

    def _read(self, rule: AbstractQuadrature, values: Values, count: int) -> Solution:
        code = Code.CONVERGED if self.result.ok else Code.UNTRAINED
        parts = _read(self.network, self.problem, rule, values, count, jnp.asarray(int(code)))
        return Solution(self.problem, values, *parts, batched=True)

    def save(self, path: str | Path, overwrite: bool = False) -> None:
        """Writes the operator into a folder, whole or not at all; `load` reads it.

        Arguments:
            overwrite: Allows the folder to hold a run already, which is replaced.
        """
        if not is_path(path):
            raise TypeError(f'`save` takes the folder to write, got {path!r}. Write `operator.save("runs/mine")`.')
        config = describe(self.problem, self.recipe, self.seed, self.origin) | self.ending
        save_run(Path(path), config, named_arrays(self.network, self.recipe.dtype), self.history, overwrite)

    @property
    def ending(self) -> dict[str, Any]:
        """What a run writes down when it has ended."""
        return {"status": "finished", "result": dataclasses.asdict(self.result), "stats": self.stats}

    @property
    def quadrature(self) -> AbstractQuadrature:
        """The rule that the density is read with: finer than that of training."""
        nodes = self.recipe.validation.nodes
        return rule_for(self.problem.family, nodes)

    def _repr_html_(self) -> str:
        return html(self)

    def __repr__(self) -> str:
        names = ", ".join(self.problem.parameters.names)
        return f"Operator({names}) by recipe {self.recipe.name!r}: {self.result}"


@eqx.filter_jit
def _read(
    network: AbstractNetwork,
    problem: Problem,
    rule: AbstractQuadrature,
    values: dict[str, Array],
    count: int,
    code: Array,
) -> Answer:
    dtype = network_dtype(network)
    reading = Reading(network, rule, problem.family, dtype)

    def one(parameters, code):
        member = problem.member(rule, parameters, dtype, data=False)
        unknown = member.representation.charged(member, reading.unknowns(member.boundary, parameters, code))
        n = member.boundary.s.shape[0] * member.condition.channels
        density = member.representation.density(member.boundary, member.condition, unknown[:n])
        strengths = member.representation.strengths(member, density, unknown[n:])
        return member.boundary.s, density, member.boundary, strengths

    s, density, boundary, strengths = jax.vmap(one, axis_size=count)(values, network.encode_many(values, count))
    stats = {
        "num_nodes": jnp.full(count, boundary.s.shape[1]),
        # The mean that is taken from an interior Neumann solution is an integral of its layer over the boundary.
        "applications": jnp.full(count, int(not problem.condition.takes_value and problem.side == "interior")),
    }
    inside = problem.parameters.holds(values, count)
    result = Result(jnp.where(inside, code, jnp.maximum(code, Code.OUTSIDE)), jnp.zeros(count, int))
    density = NeuralDensity(s, density, values, network, problem)
    return Answer(density, boundary, strengths, rule, result, stats)


def in_precision(network: AbstractNetwork, dtype: Any) -> AbstractNetwork:
    return jax.tree_util.tree_map(lambda x: x.astype(dtype) if eqx.is_inexact_array(x) else x, network)


def network_dtype(network: AbstractNetwork) -> Any:
    leaves = jax.tree_util.tree_leaves(eqx.filter(network, eqx.is_inexact_array))
    return leaves[0].dtype
