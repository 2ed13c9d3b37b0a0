"""Two ways to make a residual small: Gauss-Newton with Levenberg and Marquardt's damping, and Adam."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg
import optax
from jaxtyping import Array, Float, Inexact

from edgewise.learn.collocation import System
from edgewise.learn.networks import AbstractNetwork
from edgewise.learn.recipes import OptimiserRecipe

State = dict[str, Array]
"""What an optimiser carries from one step to the next: `weights`, flat, and numbers of its own."""

# Steps are tried with λ times each of these in turn, until one leaves at most this share of the loss; else the best counts.
TRIALS = (1e-2, 1e-1, 1.0, 10.0)
ENOUGH = 0.1
# Where none of them made the residual smaller, λ is multiplied by this.
RETREAT = 100.0
# λ below which the arithmetic of the normal equations is all that limits a step.
LEAST_DAMPING = 1e-15


def gauss_newton_start(weights: Float[Array, " P"], recipe: OptimiserRecipe) -> State:
    dtype = weights.dtype
    return {"weights": weights, "damping": jnp.asarray(recipe.damping, dtype), "loss": jnp.asarray(jnp.inf, dtype)}


@eqx.filter_jit
def gauss_newton_step(state: State, rest: AbstractNetwork, unravel: Callable, systems: System, units: Array) -> State:
    """One step d = -(JᵀJ + λ)⁻¹ Jᵀ r, in the smaller of the spaces of weights and of residuals.

    `units` divides the rows, so that the residual is relative. A step that does not make the residual smaller is not taken.
    """
    weights, damping = state["weights"], state["damping"]

    def residual(weights):
        network = eqx.combine(unravel(weights), rest)
        return stacked(jax.vmap(lambda s: s.residual(network))(systems) / units)

    r = residual(weights)
    jacobian = stacked(_jacobian(weights, rest, unravel, systems) / units[:, None])
    rows, columns = jacobian.shape
    if rows < columns:
        gram = jacobian @ jacobian.T
        step = lambda factor: jacobian.T @ jax.scipy.linalg.cho_solve(factor, r)
    else:
        gram = jacobian.T @ jacobian
        slope = jacobian.T @ r
        step = lambda factor: jax.scipy.linalg.cho_solve(factor, slope)

    def attempt(damping):
        factor = jax.scipy.linalg.cho_factor(gram + damping * jnp.eye(gram.shape[0], dtype=gram.dtype))
        trial = weights - step(factor)
        loss = jnp.sum(residual(trial) ** 2)
        return trial, jnp.where(jnp.isfinite(loss), loss, jnp.inf)

    dampings = jnp.maximum(damping * jnp.asarray(TRIALS, damping.dtype), LEAST_DAMPING)
    before = jnp.sum(r**2)

    def unsettled(best):
        tried, _, loss, _ = best
        return (tried < len(TRIALS)) & ((tried == 0) | ~(loss <= ENOUGH * before))

    def try_next(best):
        tried, *kept = best
        trial, loss = attempt(dampings[tried])
        better = loss < kept[1]
        new = (trial, loss, dampings[tried])
        return tried + 1, *(jnp.where(better, a, b) for a, b in zip(new, kept, strict=True))

    start = (jnp.zeros((), int), weights, before, RETREAT * damping)
    _, weights, loss, damping = jax.lax.while_loop(unsettled, try_next, start)
    return {"weights": weights, "damping": damping, "loss": loss}


def stacked(rows: Inexact[Array, "m rows ..."]) -> Float[Array, "all ..."]:
    """The rows of all members under each other, real and imaginary parts apart."""
    flat = rows.reshape(-1, *rows.shape[2:])
    return jnp.concatenate([flat.real, flat.imag]) if jnp.iscomplexobj(flat) else flat


def _jacobian(weights: Array, rest: AbstractNetwork, unravel: Callable, systems: System) -> Inexact[Array, "m rows P"]:
    """The derivative of every row in the weights: node by node for the network, then by the equation, which is linear."""

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

        values = jnp.moveaxis(jax.vmap(at)(system.nodes), 0, 1)
        unknowns = values.reshape(-1, values.shape[-1])
        if system.matrix.shape[1] > unknowns.shape[0]:
            unknowns = jnp.concatenate([unknowns, real_and_imaginary(scalars)])
        return system.matrix @ unknowns

    return jax.vmap(member)(systems)


def adam(recipe: OptimiserRecipe) -> optax.GradientTransformation:
    """Adam with the paper's schedule: the rate falls by a factor every so many steps."""
    schedule = optax.exponential_decay(recipe.rate, recipe.decay_every, recipe.decay, staircase=True)
    return optax.adam(schedule)


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

    A loss that is not finite stops it there: the state stays as it was before that step and `lost` says so. `loss` is that of
    the weights at the end, not of those one step before, so that a step that ruined them is seen; `least` the smallest so far.
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
