"""Splits data under rotations of the plane into parts that a rotation multiplies by a phase."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.learn.collocation import Values, training_members
from edgewise.learn.frame import wave_direction
from edgewise.learn.multiplied import superposition
from edgewise.potentials import Member
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

# Turns by which data are known, the share of them that still counts, and the highest order of data that a network has.
TURNS, SMALL, HIGHEST = 96, 1e-8, 40


class Column(NamedTuple):
    """A part of the data that a rotation multiplies by a phase."""

    number: int
    """The index of its multiplier."""
    odd: bool
    """Whether reflection at the first axis changes its sign."""
    order: int
    """The order q, 0 or more: reflection gives those below 0."""


def columns_of(problem: Problem) -> tuple[Column, ...] | None:
    """The columns that the data need, found from a few members; None where they are too many."""
    rule = rule_for(problem.family, 16)
    members = training_members(problem.parameters, 6, np.dtype(float))

    def one(parameters):
        member = problem.member(rule, parameters, np.dtype(float), data=False)
        return turned_data(problem, member, parameters, TURNS)

    found = np.asarray(eqx.filter_jit(jax.vmap(one))(members))
    # Members, numbers, even and odd, orders, what is given at the nodes.
    size = np.max(np.abs(found), axis=(0, 4))
    largest = np.max(size, axis=(1, 2), keepdims=True)
    size = np.maximum(size, size[:, :, -np.arange(TURNS)])[:, :, : TURNS // 2]
    counts = size > SMALL * np.where(largest > 0, largest, 1)
    if np.any(counts[:, :, HIGHEST + 1 :]):
        return None
    return tuple(Column(int(i), bool(odd), int(order)) for i, odd, order in zip(*np.nonzero(counts), strict=True))


def turned_data(
    problem: Problem, member: Member, parameters: Values, turns: int
) -> Inexact[Array, "numbers 2 turns given"]:
    """One member's data (and slopes where the equation takes them) by order: even and odd parts, order 0, 1, ...,
    -1."""
    return _by_order(_given, problem, member, parameters, turns)


def turned_rhs(
    problem: Problem, member: Member, parameters: Values, turns: int
) -> Inexact[Array, "numbers 2 turns rows"]:
    """The right-hand sides of the equation, in that order."""
    return _by_order(lambda m: m.representation.rhs(m), problem, member, parameters, turns)


def _by_order(read: Any, problem: Problem, member: Member, parameters: Values, turns: int) -> Array:
    """Projects the data on rotation order q: the mean over σ of e^{-iqσ} times the data rotated by σ."""
    angles = 2 * np.pi * np.arange(turns) / turns

    def turned(unit, angle, reflected):
        sign = 1 - 2 * reflected
        cosine, sine = jnp.cos(angle), jnp.sin(angle)
        matrix = jnp.stack([jnp.stack([cosine, -sine * sign]), jnp.stack([sine, cosine * sign])])
        own = member.boundary
        there = dataclasses.replace(own, x=own.x @ matrix.T, normal=own.normal @ matrix.T, s=angle + sign * own.s)
        given = problem.with_data(member.placed(there), {**parameters, **unit})
        return read(given.placed(own))

    # First numbers, then reflections, then turns. The reflected data, turned by σ, are the data reflected and turned by
    # -σ.
    over = jax.vmap(jax.vmap(turned, (None, 0, None)), (None, 0, 0))
    both = jnp.asarray(np.stack([angles, -angles]), member.boundary.x.dtype)
    units, shares = _units(problem, member.boundary.x.dtype)
    found = jax.vmap(over, (0, None, None), axis_size=len(shares))(units, both, jnp.asarray([0, 1]))
    found = jnp.tensordot(jnp.asarray(shares.T, member.boundary.x.dtype), found, axes=1)
    orders = jnp.fft.fft(found, axis=2) / turns
    return jnp.stack([orders[:, 0] + orders[:, 1], orders[:, 0] - orders[:, 1]], axis=1) / 2


def _units(problem: Problem, dtype: Any) -> tuple[Values, np.ndarray]:
    """Settings that give one of each multiplier, and weights for adding them up; a plane wave along the first axis."""
    units, shares = superposition(problem).settings(problem.parameters, dtype)
    direction = wave_direction(problem)
    if direction is not None:
        shape = dict(problem.parameters.specs)[direction].shape
        units[direction] = jnp.asarray([1.0, 0.0] if shape else 0.0, dtype)[None]
    return units, shares


def _given(member: Member) -> Inexact[Array, " given"]:
    return member.data if member.slope is None else jnp.concatenate([member.data, member.slope])
