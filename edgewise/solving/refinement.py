"""A density made better: GMRES on finer nodes, started from what is known already."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.base.precision import is_concrete
from edgewise.potentials import Member, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature
from edgewise.quadrature.discretisation import map_densities
from edgewise.quadrature.surfaces.operators import AbstractOperator
from edgewise.solving import linear
from edgewise.solving.systems import (
    LARGEST,
    Answer,
    System,
    each_system,
    finish,
    over_members,
    preconditioner,
    prepare,
    without_pairs,
)
from edgewise.solving.validation import Settings

# A relative residual below this many roundings is not to be had: sums of that many terms do not come out better.
LEAST_ROUNDINGS = 64


class Factorisation(eqx.Module):
    """One member's equation on the finer nodes of `refine`, inverted: a preconditioner for the members near it.

    Made by `solution.factorise()`, once; `other.refine(tol, neighbour=...)` takes it.
    """

    inverse: Inexact[Array, "n n"]


def factorise(
    problem: Problem, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], dtype: np.dtype
) -> Factorisation:
    """Of the one member along the first axis of the parameters."""
    system = prepare(problem, quadrature.finer(), dict(parameters), 1, Settings("direct", 1.0, dtype, None))
    if isinstance(system.matrix, AbstractOperator):
        raise ValueError(
            f"`factorise` holds the matrix of the finer nodes, which are {system.rhs.shape[1]}; expected at most "
            f"{LARGEST}. Take fewer nodes, or use `refine(tol)` without a neighbour, which holds no matrix."
        )
    return Factorisation(_invert(system.matrix[0]))


def refine(
    problem: Problem,
    quadrature: AbstractQuadrature,
    parameters: Mapping[str, Array],
    strengths: tuple[Strengths, ...],
    tol: float,
    neighbour: Factorisation | None = None,
) -> Answer:
    """Every member along the first axis of parameters and strengths, one after the other."""
    dtype = np.dtype(strengths[0].polynomial.real.dtype)
    settings = Settings("gmres", check_tol(tol, dtype), dtype, None)

    rule = quadrature.finer()

    def one(system: System, strengths: tuple[Strengths, ...]):
        guess = first_guess(system.member, quadrature, strengths)
        inverse = None if neighbour is None else _inverse(neighbour, guess.shape[-1])
        known = system._replace(member=without_pairs(system.member))
        unknown, warm, cold, residual = _iterate(known, guess, inverse, settings.tol)
        answer = finish(system.member, unknown, warm, residual, settings, rule)
        return answer._replace(stats=answer.stats | {"cold_applications": cold})

    count = strengths[0].polynomial.shape[0]
    return each_system(one, problem, rule, (dict(parameters), strengths), count, settings)


def least_tol(dtype: Any) -> float:
    return LEAST_ROUNDINGS * float(jnp.finfo(dtype).eps)


def check_tol(tol: Any, dtype: Any) -> float:
    """A relative residual that can be had in this precision, or words."""
    floor = least_tol(dtype)
    tol = tol.item() if isinstance(tol, jax.Array) and tol.shape == () and is_concrete(tol) else tol
    is_number = isinstance(tol, int | float | np.number) and not isinstance(tol, bool)
    if not is_number or not 0 < tol < 1:
        raise ValueError(
            f"`tol` must be a relative residual between {floor:.1e} and 1, got {tol!r}. Write `refine(1e-10)`."
        )
    if tol < floor:
        cure = "Work in double precision, `ew.enable_x64()`, or ask" if floor > 1e-10 else "Ask"
        raise ValueError(
            f"`tol={tol:g}` is below what {jnp.dtype(dtype)} can tell, {floor:.1e}. {cure} for `tol={2 * floor:.0e}` "
            "or more."
        )
    return float(tol)


def _inverse(neighbour: Any, unknowns: int) -> Array:
    if not isinstance(neighbour, Factorisation):
        raise TypeError(
            f"`neighbour` must be a factorisation, got {type(neighbour).__name__}. Write `neighbour=other.factorise()`."
        )
    if neighbour.inverse.shape[0] != unknowns:
        raise ValueError(
            f"`neighbour` has {neighbour.inverse.shape[0]} unknowns, this solution on finer nodes {unknowns}; expected "
            "another member of the same problem on the same nodes, `other.factorise()`."
        )
    return neighbour.inverse


def _invert(matrix: Array) -> Array:
    # By NumPy where values are at hand: see `linear.direct`.
    return jnp.asarray(np.linalg.inv(np.asarray(matrix))) if is_concrete(matrix) else jnp.linalg.inv(matrix)


def first_guess(member: Member, coarse: AbstractQuadrature, strengths: tuple[Strengths, ...]) -> Inexact[Array, "b n"]:
    """The unknowns on the finer nodes of the members: what the strengths are between theirs."""
    return _guess(without_pairs(member), coarse, strengths)


@eqx.filter_jit
def _guess(member: Member, coarse: AbstractQuadrature, strengths: tuple[Strengths, ...]) -> Inexact[Array, "b n"]:
    components, finer = member.boundary.components, member.on.rule

    def one(member, strengths):
        spread = map_densities(lambda values: coarse.spread(values, finer, components), strengths)
        return member.representation.unknown(member, spread)

    return jax.vmap(one)(member, strengths)


@eqx.filter_jit
def _iterate(system: System, guess: Array, inverse: Array | None, tol: float) -> tuple[Array, Array, Array, Array]:
    """Unknowns, applications from the guess and from zero, and the relative residual.

    Preconditioned from the right, so that what GMRES makes small is the residual itself.
    """

    def one(member, matrix, rhs, guess):
        precondition = preconditioner(member, matrix)
        if inverse is not None:
            precondition = lambda x: (inverse @ x).astype(x.dtype)

        def apply(x):
            return matrix @ precondition(x)

        size = jax.lax.stop_gradient(jnp.linalg.norm(rhs))
        left = rhs - matrix @ guess.astype(rhs.dtype)
        share = jnp.linalg.norm(jax.lax.stop_gradient(left)) / jnp.where(size > 0, size, 1)
        correction, steps, reached = linear.gmres(apply, left, tol=tol / jnp.where(share > 0, share, 1))
        _, cold, _ = linear.gmres(apply, jax.lax.stop_gradient(rhs), tol=tol)
        # The guess itself takes one application.
        return guess + precondition(correction), steps + 1, cold, reached * share

    return over_members(one, *system, guess)
