"""Finds the parameters that a network should see by their logarithm.

A density is analytic in a Robin coefficient h > 0, a gap or an aspect, but often singular at 0. Polynomials in the
parameter then converge slowly, the slower the smaller its low end is beside the high one; in its logarithm 0 is
infinitely far away. Of h in [0.1, 10] on an ellipse, polynomials of degree 11 leave a quarter of the data, those of log
h 2e-6. Where a parameter acts otherwise, an angle by which a body is turned, the logarithm is the worse choice: so it
is tried.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Inexact

from edgewise.base.named import names_in
from edgewise.learn.collocation import System, conditioned_systems, training_members
from edgewise.learn.inputs import ParameterInputs, number_of_terms
from edgewise.learn.multiplied import superposition
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

# The least ratio of the ends of an interval: below it the two ways hardly differ.
LEAST_RATIO = 4.0
# A logarithm is taken where it leaves less than this share of the misfit.
SHARE = 0.5
# What is tried: few nodes, and polynomials up to this degree, so many at most.
NODES, DEGREE, TERMS = 48, 11, 45
# Beside the largest, what is added to the normal equations, so that rounding leaves them positive.
ROUNDING = 1e-12


def by_octaves(problem: Problem) -> tuple[str, ...]:
    """Names of the parameters for which the logarithm serves better, each tried by itself.

    Trained and compared is the linear part of a network, polynomials of the parameters with a density at a few nodes
    for each, by least squares of the residual: nothing is solved for labels.
    """
    candidates = _candidates(problem)
    if not candidates:
        return ()
    multiplying = superposition(problem).names
    box = problem.parameters.without(multiplying)
    degree = next(d for d in range(DEGREE, -1, -1) if number_of_terms(box, d) <= TERMS)
    count = 2 * number_of_terms(box, degree)
    ways = [(), *((name,) for name in candidates)]
    # One call, one compilation: the members of each way, then others in between, spread either way.
    dtype = jnp.result_type(float)
    draws = [training_members(problem.parameters, count, dtype, way) for way in ways]
    draws += [training_members(problem.parameters, count + 1, dtype, way) for way in ((), candidates)]
    members = {name: jnp.concatenate([draw[name] for draw in draws]) for name in problem.parameters.names}
    # What only multiplies the answer is the same for all.
    members |= {name: jnp.broadcast_to(members[name][0], members[name].shape) for name in multiplying}
    every = sum(len(draw[candidates[0]]) for draw in draws)
    systems = conditioned_systems(problem, rule_for(problem.family, NODES), members, every, dtype)
    systems = jax.tree_util.tree_map(_precise, systems)
    largest = np.max(np.abs(systems.rhs))
    if not (np.all(np.isfinite(systems.matrix)) and 0 < largest < np.inf):
        # What is wrong with them, `fit` says.
        return ()
    systems = systems._replace(rhs=systems.rhs / largest)
    between = _part(systems, slice(len(ways) * count, None))

    def misfit(number: int) -> float:
        inputs = ParameterInputs(box, degree, ways[number])
        try:
            trained = _fitted(inputs, _part(systems, slice(number * count, (number + 1) * count)))
        except np.linalg.LinAlgError:
            return np.inf
        return _missed(inputs, trained, between)

    plain, *others = (misfit(number) for number in range(len(ways)))
    return tuple(name for name, found in zip(candidates, others, strict=True) if found < SHARE * plain)


def _candidates(problem: Problem) -> tuple[str, ...]:
    """Positive parameters of a wide range that shape the boundary or its condition, unless there are waves, whose phase
    is linear in a length."""
    if problem.representation.kernel.oscillates:
        return ()
    shaping = names_in((problem.family, problem.condition))
    return tuple(name for name, spec in problem.parameters.specs if name in shaping and spec.ratio >= LEAST_RATIO)


def _precise(leaf: Any) -> np.ndarray:
    """In double precision, whatever that of the members: normal equations square a condition number."""
    array = np.asarray(leaf)
    return array.astype(complex if np.iscomplexobj(array) else float)


def _part(systems: System, members: slice) -> System:
    return jax.tree_util.tree_map(lambda leaf: leaf[members], systems)


def _fitted(inputs: ParameterInputs, systems: System) -> Inexact[np.ndarray, "terms unknowns"]:
    """Unknowns at the nodes for every polynomial, by normal equations: for each member a product of two factors."""
    seen = np.asarray(jax.vmap(inputs.polynomials)(systems.parameters))
    matrix, rhs = systems.matrix, systems.rhs
    terms, unknowns = seen.shape[1], matrix.shape[2]
    squares = np.einsum("iru,irv->iuv", matrix.conj(), matrix).reshape(len(matrix), -1)
    pairs = np.einsum("ik,il->ikl", seen, seen).reshape(len(seen), -1)
    normal = (pairs.T @ squares).reshape(terms, terms, unknowns, unknowns)
    normal = normal.transpose(0, 2, 1, 3).reshape(terms * unknowns, -1)
    right = np.einsum("ik,iru,ir->ku", seen, matrix.conj(), rhs).reshape(-1)
    normal[np.diag_indices_from(normal)] += ROUNDING * np.max(np.abs(normal))
    return scipy.linalg.cho_solve(scipy.linalg.cho_factor(normal), right).reshape(terms, unknowns)


def _missed(inputs: ParameterInputs, trained: np.ndarray, systems: System) -> float:
    """The worst misfit of these members, relative to their data."""
    seen = np.asarray(jax.vmap(inputs.polynomials)(systems.parameters))
    residual = np.einsum("iru,iu->ir", systems.matrix, seen @ trained) - systems.rhs
    sizes = np.linalg.norm(systems.rhs, axis=1)
    return float(np.max(np.linalg.norm(residual, axis=1) / np.where(sizes > 0, sizes, 1)))
