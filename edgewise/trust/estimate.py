"""How wrong a solution is, from the boundary alone.

A field made of layers satisfies its differential equation whatever the density is. All that can be wrong is what the
field misses of the boundary condition. This misfit r is computed on twice the nodes, and the error e is the field whose
data are r:

- For Laplace's equation and the modified Helmholtz equation with Dirichlet data, |e| is nowhere larger than the largest
  |r|, by the maximum principle. The estimate is then a bound.
- Elsewhere e is solved for, and looked at on the boundary and at points off it. The factor by which it exceeds r is the
  stability constant of this member for this misfit.

Three terms add up: the largest misfit of the trigonometric interpolant, what may hide between the nodes, and rounding.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.base.precision import is_concrete
from edgewise.potentials import Dirichlet, Member, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature
from edgewise.quadrature.curves.field import CurveField
from edgewise.quadrature.curves.rule import AbstractCurveRule
from edgewise.solving.systems import assemble, one_by_one
from edgewise.special import interpolate, resample, wave_numbers
from edgewise.trust.error_field import AFAR, ROUNDING, Of, extent, norms, row_sizes, solve_for_error
from edgewise.trust.estimate_space import terms_in_space
from edgewise.trust.misfit import misfit

# The error is looked at in points, between which it may be larger.
SAFETY = 1.5
# Of surfaces the corrected field errs too, by up to half as much where convergence is slow.
SAFETY_IN_SPACE = 2.0
# Coordinates in [0, 2π) that no equispaced nodes have in common: multiples of the golden ratio.
BETWEEN = 2 * np.pi * np.mod(np.arange(1, 65) * (np.sqrt(5) - 1) / 2, 1)


class ErrorEstimate(eqx.Module):
    """How wrong a solution is; of a batch, one number a member in every array. `float(estimate)` is its `value`."""

    value: Float[Array, "..."]
    """Absolute: the largest error of the field over its domain, or the l2 norm of the far field's error."""
    relative: Float[Array, "..."]
    """`value` over the same norm of the solution itself."""
    bound: bool = eqx.field(static=True)
    """Whether `value` is proven to be no less than the error, as far as `hidden` sees; else it is an estimate."""
    misfit: Float[Array, "..."]
    """The largest value on the boundary of the misfit's trigonometric interpolant on twice the nodes. For Laplace's
    equation outside it includes what a wrong total charge adds within ten sizes of the curves. On surfaces it is what
    the density leaves of its equation, as a polynomial on each panel."""
    hidden: Float[Array, "..."]
    """The part of the misfit that may hide between those nodes: twice its highest frequencies, and twice what 64 other
    points show that the nodes do not. It is infinite where the nodes are too few to tell the boundary. On surfaces it
    is what the data do between the nodes."""
    rounding: Float[Array, "..."]
    """What arithmetic may change in the field."""
    stability: Float[Array, "..."]
    """The factor from misfit to error, solved for; 1 by the maximum principle, on surfaces 2 for safety."""

    def __float__(self) -> float:
        if np.ndim(self.value):
            raise TypeError(f"This estimate has {len(self.value)} members; write `estimate.value`, or `estimate[0]`.")
        return float(self.value)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __getitem__(self, index: int) -> "ErrorEstimate":
        if not np.ndim(self.value):
            raise TypeError("This is the estimate of one member; write `estimate.value`, or `float(estimate)`.")
        return jax.tree_util.tree_map(lambda leaf: leaf[index], self)

    def __str__(self) -> str:
        if not is_concrete(self.value) or np.ndim(self.value):
            return repr(self)
        if not np.isfinite(self.value):
            return "error not known: too few nodes for this boundary"
        return f"error at most {float(self.value):.1e}" if self.bound else f"estimated error {float(self.value):.1e}"

    def __repr__(self) -> str:
        if not is_concrete(self.value) or np.ndim(self.value):
            return f"ErrorEstimate(value={self.value}, relative={self.relative}, bound={self.bound})"
        return f"ErrorEstimate(value={float(self.value):.2e}, relative={float(self.relative):.2e}, bound={self.bound})"


def estimate(
    problem: Problem,
    quadrature: AbstractQuadrature,
    parameters: Mapping[str, Array],
    strengths: tuple[Strengths, ...],
    of: Of = "field",
) -> ErrorEstimate:
    """Of every member along the first axis of parameters and strengths, one after the other."""
    words = refusal(problem, of)
    if words:
        raise ValueError(words)
    if quadrature.is_dear:
        return _in_space(problem, quadrature, parameters, strengths, of)

    def one(member):
        parameters, strengths = member
        return _estimate(problem, quadrature, parameters, strengths, of)

    return one_by_one(one, (dict(parameters), strengths), strengths[0].polynomial.shape[0])


def obeys_maximum(problem: Problem) -> bool:
    """Whether the error is largest on the boundary, where it is the misfit."""
    return problem.representation.kernel.obeys_maximum and isinstance(problem.condition, Dirichlet)


def refusal(problem: Problem, of: Any = "field") -> str | None:
    """Why there is no estimate, and what to do; None where there is one."""
    kernel = problem.representation.kernel
    if of not in ("field", "far_field"):
        return f'`of` must be "field" or "far_field", got {of!r}. Write `error_estimate(of="field")`.'
    if of == "far_field" and (not kernel.oscillates or problem.side == "interior"):
        return (
            f'`of="far_field"` is for waves outside; this is `{kernel.name}` on side "{problem.side}". Leave it out: '
            "`error_estimate()`."
        )
    if kernel.order == 4 and problem.side != "interior":
        return (
            f'There is no estimate for `{kernel.name}` on side "{problem.side}": an error in the linear part of the '
            'field grows with the distance, so that no number bounds it; expected side "interior". `residual()` has '
            "the misfit on the boundary."
        )
    return None


def _estimate(
    problem: Problem,
    quadrature: AbstractQuadrature,
    parameters: dict[str, Array],
    strengths: tuple[Strengths, ...],
    of: Of,
) -> ErrorEstimate:
    """Of one member. In steps compiled apart: see `systems.prepare`."""
    finer = quadrature.finer()
    member, missed, terms = _look(problem, quadrature, finer, parameters, strengths)
    misfit, hidden, rounding = terms
    if of == "field" and obeys_maximum(problem):
        value = misfit + hidden + rounding
        # Toward corners what hides between nodes is not known well enough.
        bound = quadrature.is_sure
        relative = value / _positive(jnp.max(jnp.abs(member.data)))
        return ErrorEstimate(value, relative, bound, *terms, stability=jnp.ones_like(value))
    member = dataclasses.replace(member, representation=member.representation.for_errors)
    (matrix,), _ = assemble(jax.tree_util.tree_map(lambda leaf: jnp.asarray(leaf)[None], member))
    error = solve_for_error(problem, finer, parameters, member, matrix, missed)
    own = _fields(problem, quadrature, parameters, strengths)
    largest, size = norms((error, own), member, missed, of)
    stability = SAFETY * largest / _positive(_largest(member, missed))
    value = _known(stability * (misfit + hidden) + rounding)
    return ErrorEstimate(value, value / _positive(size), False, *terms, stability=stability)


def _in_space(
    problem: Problem,
    quadrature: AbstractQuadrature,
    parameters: Mapping[str, Array],
    strengths: tuple[Strengths, ...],
    of: Of,
) -> ErrorEstimate:
    """Of every member. Never a bound: between the nodes of a surface nothing is known for certain."""
    solved = of == "far_field" or not obeys_maximum(problem)
    found = terms_in_space(problem, quadrature, parameters, strengths, of, solved)
    stability = SAFETY_IN_SPACE * found.error / _positive(found.misfit)
    value = _known(stability * (found.misfit + found.hidden) + found.rounding)
    terms = (found.misfit, found.hidden, found.rounding)
    return ErrorEstimate(value, value / _positive(found.size), False, *terms, stability=stability)


@eqx.filter_jit
def _fields(
    problem: Problem, quadrature: AbstractQuadrature, parameters: dict[str, Array], strengths: tuple[Strengths, ...]
) -> tuple[Any, ...]:
    return problem.fields(quadrature, parameters, strengths)


@eqx.filter_jit
def _look(
    problem: Problem,
    quadrature: AbstractQuadrature,
    finer: AbstractQuadrature,
    parameters: dict[str, Array],
    strengths: tuple[Strengths, ...],
) -> tuple[Member, Array, tuple[Array, Array, Array]]:
    """The member on twice the nodes, its misfit there, and the three terms of the estimate."""
    fields: Any = problem.fields(quadrature, parameters, strengths)
    assert isinstance(finer, AbstractCurveRule), "surfaces have an estimate of their own"
    member = problem.member(finer, parameters, fields[0].layers.source.x.dtype)
    missed, seen = misfit(problem, fields, member.boundary, parameters)
    curves = missed.reshape(len(missed) * member.boundary.components, -1)
    count = curves.shape[-1]
    # A trigonometric polynomial of degree m is nowhere larger than 1/cos(πm/M) times the largest of its values at M
    # equispaced points.
    largest = jax.vmap(lambda values: resample(values, 4 * count))(curves) / np.cos(np.pi / 8)
    # Modes beyond the nodes' reach pass for lower ones. Of those seen, the highest quarter stands for them.
    high = np.abs(wave_numbers(count)) >= 3 * count // 8
    above = 2 * jnp.sum(jnp.abs(jnp.fft.fft(curves))[:, high], axis=-1, keepdims=True) / count
    # And what passes for something smooth is found out in between.
    start = finer.grid()[0][0]
    off_nodes = finer.at(BETWEEN, problem.family, parameters, member.boundary.x.dtype)
    true, also_seen = misfit(problem, fields, off_nodes, parameters)
    at = jnp.asarray(BETWEEN - start, member.boundary.x.dtype)
    taken = jax.vmap(lambda values: jax.vmap(lambda s: interpolate(values, s))(at))(curves)
    surprise = 2 * jnp.abs(true - taken.reshape(true.shape))
    misfits, hidden, surprise = (_largest(member, part.reshape(len(missed), -1)) for part in (largest, above, surprise))
    hidden = jnp.where(jnp.all(seen) & jnp.all(also_seen), hidden + surprise, jnp.inf)
    rounding = jnp.stack([_rounding(field, member) for field in fields]).sum()
    return member, missed, (_known(misfits + _drift(fields[0], member)), _known(hidden), rounding)


def _known(value: Array) -> Array:
    """Of what is not a number no bound is known."""
    return jnp.where(jnp.isnan(value), jnp.inf, value)


def _largest(member: Member, missed: Inexact[Array, "c n"]) -> Float[Array, ""]:
    """The largest misfit; where a slope is prescribed beside a value, times the size of the curves."""
    return jnp.max(jnp.max(jnp.abs(missed), axis=-1) * row_sizes(member, len(missed)))


def _drift(field: CurveField, member: Member) -> Float[Array, ""]:
    """Outside, what a total charge other than the prescribed one adds to the error of Laplace's equation up to `AFAR`.

    The error plus the logarithm of this charge about a point inside is bounded, so that the maximum principle holds for
    the sum. The logarithm itself changes by no more than it does from the curve to that distance.
    """
    kernel, condition = field.kernel, member.condition
    has_charge = kernel.polynomials == 1 and member.side != "interior" and condition.takes_value
    if not has_charge or condition.jumps or field.layers.single is None:
        return jnp.zeros((), member.boundary.x.dtype)
    steps = field.layers.source.step
    amounts = field.layers.single * (steps if field.layers.single.ndim == steps.ndim else steps[:, None])
    wrong = jnp.linalg.norm(jnp.sum(amounts, axis=(0, -1)) - member.charge)
    x = member.boundary.x
    near = jnp.min(jnp.linalg.norm(x - jnp.mean(x, axis=0), axis=-1))
    return wrong / (2 * np.pi) * jnp.log(AFAR * extent(member.boundary) / near)


def _rounding(field: CurveField, member: Member) -> Float[Array, ""]:
    """What rounding of sums over the layers, the polynomial and the data may add up to."""
    layers, kernel = field.layers, field.kernel
    size = extent(member.boundary)
    near = jnp.min(member.boundary.weight)
    steps = layers.source.step[(slice(None), *[None] * len(kernel.value_shape[1:]))]
    total = jnp.max(jnp.abs(member.data)) + jnp.sum(jnp.abs(field.polynomial)) * jnp.maximum(size, 1)
    if layers.single is not None:
        total += jnp.sum(steps * jnp.abs(layers.single)) * jnp.maximum(kernel.sizes(near)[0], kernel.sizes(size)[0])
    if layers.double is not None:
        # Over a second-order kernel's curve ∂G/∂n integrates to one.
        length = jnp.linalg.norm(layers.source.velocity, axis=-1).reshape(steps.shape)
        total += jnp.sum(steps * length * jnp.abs(layers.double)) * kernel.sizes(size)[1]
    return ROUNDING * jnp.finfo(size.dtype).eps * total


def _positive(value: Array) -> Array:
    return jnp.where(value > 0, value, 1)
