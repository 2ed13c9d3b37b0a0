"""Two ways to make a residual small: Gauss-Newton with Levenberg and Marquardt's damping, and Adam."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import optax
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import AbstractFamily
from edgewise.learn.collocation import System
from edgewise.learn.density import Reading
from edgewise.learn.networks import AbstractNetwork, times_factor
from edgewise.learn.recipes import OptimiserRecipe
from edgewise.quadrature import AbstractQuadrature

State = dict[str, Array]
"""What an optimiser carries from one step to the next: `weights`, flat, and numbers of its own."""

# Steps are tried with λ times each of these, until one leaves at most this share of the loss; else the best counts.
TRIALS = (1e-10, 1e-8, 1e-2, 1e-1, 1.0, 10.0)
USUAL = 2
ENOUGH = 0.1
# Where none of them made the residual smaller, λ is multiplied by this.
RETREAT = 100.0
# Numbers of a Jacobian beyond which it is not stored, how many times it is then applied for one step at most, and by
# how much the slope must have fallen before.
MOST_NUMBERS = 2**26
ITERATIONS, SETTLED = 150, 1e-4
# λ below which the arithmetic of the normal equations is all that limits a step.
LEAST_DAMPING = 1e-15


def gauss_newton_start(weights: Float[Array, " P"], recipe: OptimiserRecipe) -> State:
    dtype = weights.dtype
    return {"weights": weights, "damping": jnp.asarray(recipe.damping, dtype), "loss": jnp.asarray(jnp.inf, dtype)}


@eqx.filter_jit
def gauss_newton_step(
    state: State,
    rest: AbstractNetwork,
    unravel: Callable,
    systems: System,
    units: Array,
    place: tuple[AbstractQuadrature, AbstractFamily],
) -> State:
    """One step d = -(JᵀJ + λ)⁻¹ Jᵀ r, in the space of weights or of residuals, the smaller; by iteration if J is large.

    `units` divides the rows, so that the residual is relative; `place` is the rule and the family that the nodes are
    of. A step that does not make the residual smaller is not taken.
    """
    weights, damping = state["weights"], state["damping"]

    def residual(weights):
        # What all members share is computed once.
        reading = Reading(eqx.combine(unravel(weights), rest), *place, weights.dtype)
        missed = jax.vmap(lambda s: s.matrix @ reading.unknowns(s.nodes, s.parameters) - s.rhs)(systems)
        return stacked(missed / units)

    r = residual(weights)
    if r.size * weights.size <= MOST_NUMBERS:
        step = _eliminated(stacked(_jacobian(weights, rest, unravel, systems) / units[:, None]), r)
    else:
        step = _iterated(residual, weights, r)

    def attempt(damping):
        trial = weights - step(damping)
        loss = jnp.sum(residual(trial) ** 2)
        return trial, jnp.where(jnp.isfinite(loss), loss, jnp.inf)

    dampings = jnp.maximum(damping * jnp.asarray(TRIALS, damping.dtype), LEAST_DAMPING)
    before, begin = jnp.sum(r**2), jnp.where(jnp.isinf(state["loss"]), 0, USUAL)

    def unsettled(best):
        tried, _, loss, _ = best
        return (tried < len(TRIALS)) & ((tried == begin) | ~(loss <= ENOUGH * before))

    def try_next(best):
        tried, *kept = best
        trial, loss = attempt(dampings[tried])
        better = loss < kept[1]
        new = (trial, loss, dampings[tried])
        return tried + 1, *(jnp.where(better, a, b) for a, b in zip(new, kept, strict=True))

    start = (begin, weights, before, RETREAT * damping)
    _, weights, loss, taken = jax.lax.while_loop(unsettled, try_next, start)
    # What the first step could do without, the next ones cannot.
    return {"weights": weights, "damping": jnp.where(begin, taken, jnp.maximum(taken, dampings[USUAL])), "loss": loss}


def _eliminated(jacobian: Array, r: Array) -> Callable[[Array], Array]:
    """The step as a function of λ, by elimination."""
    rows, columns = jacobian.shape
    if rows < columns:
        gram = jacobian @ jacobian.T
        given, back = r, lambda x: jacobian.T @ x
    else:
        gram = jacobian.T @ jacobian
        given, back = jacobian.T @ r, lambda x: x

    def step(damping):
        factor = jax.scipy.linalg.cho_factor(gram + damping * jnp.eye(gram.shape[0], dtype=gram.dtype))
        return back(jax.scipy.linalg.cho_solve(factor, given))

    return step


def _iterated(residual: Callable[[Array], Array], weights: Array, r: Array) -> Callable[[Array], Array]:
    """The step as a function of λ, by conjugate gradients on the normal equations: J is applied, never stored."""
    _, forward = jax.linearize(residual, weights)
    transposed = jax.linear_transpose(forward, weights)

    def backward(v):
        return transposed(v)[0]

    slope = backward(r)

    def step(damping):
        def unsettled(carry):
            count, *_, size = carry
            return (count < ITERATIONS) & (size > SETTLED**2 * first)

        def iterate(carry):
            count, d, left, s, direction, size = carry
            ahead = forward(direction)
            length = size / (jnp.sum(ahead**2) + damping * jnp.sum(direction**2))
            d, left = d + length * direction, left - length * ahead
            s = backward(left) - damping * d
            new = jnp.sum(s**2)
            return count + 1, d, left, s, s + (new / size) * direction, new

        first = jnp.sum(slope**2)
        start = (jnp.zeros((), int), jnp.zeros_like(weights), r, slope, slope, first)
        return jax.lax.while_loop(unsettled, iterate, start)[1]

    return step


def stacked(rows: Inexact[Array, "m rows ..."]) -> Float[Array, "all ..."]:
    """The rows of all members stacked, real and imaginary parts apart."""
    return parts(rows.reshape(-1, *rows.shape[2:]))


def parts(rows: Inexact[Array, "rows ..."]) -> Float[Array, "all ..."]:
    """Real and imaginary parts of all rows, stacked."""
    return jnp.concatenate([rows.real, rows.imag]) if jnp.iscomplexobj(rows) else rows


def _jacobian(weights: Array, rest: AbstractNetwork, unravel: Callable, systems: System) -> Inexact[Array, "m rows P"]:
    """The derivative of every row in the weights: of the network node by node, then of the equation, which is
    linear."""

    def real_and_imaginary(function):
        """Reverse differentiation of complex numbers, part by part."""
        real = jax.jacrev(lambda w: function(w).real)(weights)
        if not jnp.iscomplexobj(jax.eval_shape(function, weights)):
            return real
        return jax.lax.complex(real, jax.jacrev(lambda w: function(w).imag)(weights))

    def member(system):
        def at(node):
            def outputs(weights):
                network = eqx.combine(unravel(weights), rest)
                return network.decode(network.encode(system.parameters), network.features(node))

            return real_and_imaginary(outputs)

        def scalars(weights):
            network = eqx.combine(unravel(weights), rest)
            return network.scalars(network.encode(system.parameters))

        network = eqx.combine(unravel(weights), rest)
        slopes = times_factor(network, jax.vmap(at)(system.nodes), system.nodes, system.parameters)
        values = jnp.moveaxis(slopes, 0, 1)
        unknowns = values.reshape(-1, values.shape[-1])
        if system.matrix.shape[1] > unknowns.shape[0]:
            unknowns = jnp.concatenate([unknowns, real_and_imaginary(scalars)])
        return system.matrix @ unknowns

    return jax.vmap(member)(systems)


def adam(recipe: OptimiserRecipe) -> optax.GradientTransformation:
    """Adam with the paper's schedule: the rate falls by a factor every so many steps, on request to zero at the end."""
    schedule = optax.exponential_decay(recipe.rate, recipe.decay_every, recipe.decay, staircase=True)
    if not recipe.settle:
        return optax.adam(schedule)
    last = recipe.settle * recipe.steps
    return optax.adam(lambda step: schedule(step) * jnp.clip((recipe.steps - step) / last, 0, 1))


def adam_start(weights: Float[Array, " P"], recipe: OptimiserRecipe) -> State:
    initial: Any = adam(recipe).init(weights)
    moments, count = initial
    return {
        "weights": weights,
        "first": moments.mu,
        "second": moments.nu,
        "count": moments.count,
        "schedule": count.count,
        "shrink": jnp.ones((), weights.dtype),
        "loss": jnp.asarray(jnp.inf, weights.dtype),
        "least": jnp.asarray(jnp.inf, weights.dtype),
        "lost": jnp.zeros((), bool),
    }


def adam_steps(
    state: State, loss: Callable[[Array, Array], Array], recipe: OptimiserRecipe, first: Array, count: int
) -> State:
    """`count` steps in one compiled piece; `loss(weights, step)` draws its members by the number of the step.

    A loss that is not finite stops it there: the state stays as it was before that step and `lost` says so. `loss` is
    that of the weights at the end, not of those one step before, so that a step that ruined them is seen; `least` the
    smallest so far.
    """
    optimiser: Any = adam(recipe)

    def one(state, step):
        value, slope = jax.value_and_grad(loss)(state["weights"], step)
        moments = optax.ScaleByAdamState(state["count"], state["first"], state["second"])
        update, (moments, schedule) = optimiser.update(slope, (moments, optax.ScaleByScheduleState(state["schedule"])))
        good = jnp.isfinite(value) & jnp.all(jnp.isfinite(update)) & ~state["lost"]
        new = {
            "weights": state["weights"] + state["shrink"] * update,
            "first": moments.mu,
            "second": moments.nu,
            "count": moments.count,
            "schedule": schedule.count,
            "shrink": state["shrink"],
            "loss": value,
            "least": jnp.minimum(state["least"], value),
            "lost": jnp.zeros((), bool),
        }
        kept = {**state, "lost": jnp.ones((), bool)}
        return jax.tree_util.tree_map(lambda a, b: jnp.where(good, a, b), new, kept), None

    last, _ = jax.lax.scan(one, state, first + jnp.arange(count))
    value = loss(last["weights"], first + count - 1)
    return {**last, "loss": value, "lost": last["lost"] | ~jnp.isfinite(value)}
