"""Gauss-Newton with other members every step, whose noise is averaged by momentum and by ever shorter steps.

Reference: G. Goldshlager, N. Abrahamsen and L. Lin, "A Kaczmarz-inspired approach to accelerate the optimization of
neural network wavefunctions", 2024 (SPRING).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float

from edgewise.learn.optimisers import State
from edgewise.learn.recipes import OptimiserRecipe

# The share of all steps that is taken at full length; then they fall like a cosine.
FULL = 0.2
# λ falls to this share of its first value over the run.
LAST_DAMPING = 1e-2


class Linearised(NamedTuple):
    """A residual and its derivative J in the weights, given by products with J."""

    residual: Float[Array, " rows"]
    gram: Float[Array, "rows rows"]
    """J Jᵀ."""
    forward: Callable[[Array], Array]
    """J d."""
    backward: Callable[[Array], Array]
    """Jᵀ v."""


def from_matrix(jacobian: Float[Array, "rows P"], residual: Float[Array, " rows"]) -> Linearised:
    return Linearised(residual, jacobian @ jacobian.T, lambda d: jacobian @ d, lambda v: jacobian.T @ v)


def start(weights: Float[Array, " P"], members: int) -> State:
    return {
        "weights": weights,
        "momentum": jnp.zeros_like(weights),
        "loss": jnp.asarray(jnp.inf, weights.dtype),
        # The residual last seen of every member of a bank; at first all are as bad.
        "residuals": jnp.ones(members, weights.dtype),
    }


def pick(key: Array, residuals: Float[Array, " b"], count: int) -> Array:
    """Members for one step: half of them evenly, half by how large their residuals are."""
    share = residuals**2 / jnp.sum(residuals**2)
    return jax.random.choice(key, len(residuals), (count,), replace=False, p=0.5 / len(residuals) + 0.5 * share)


def step(
    state: State,
    look: Callable[[Array, Array], tuple[Linearised, Array]],
    recipe: OptimiserRecipe,
    number: Array,
    longest: float,
) -> State:
    """One step with the rows that `look(weights, residuals)` draws; it also says what is now known of the members'
    residuals.

    d = μ d' + Jᵀ(JJᵀ + λ)⁻¹(r - μ J d'), where d' is the step before. No step is longer than `longest`, so that one
    draw cannot throw the weights far away.
    """
    weights, before = state["weights"], recipe.momentum * state["momentum"]
    seen, residuals = look(weights, state["residuals"])
    progress = number / recipe.steps
    damping = recipe.damping * LAST_DAMPING**progress
    factor = jax.scipy.linalg.cho_factor(seen.gram + damping * jnp.eye(len(seen.gram), dtype=seen.gram.dtype))
    move = before + seen.backward(jax.scipy.linalg.cho_solve(factor, seen.residual - seen.forward(before)))
    tail = jnp.clip((progress - FULL) / (1 - FULL), 0, 1)
    length = recipe.rate * (1 + jnp.cos(np.pi * tail)) / 2
    norm = jnp.linalg.norm(move)
    taken = length * move * jnp.minimum(1, longest / jnp.where(norm > 0, norm, 1))
    return {
        "weights": weights - taken,
        "momentum": move,
        "loss": jnp.sum(seen.residual**2),
        "residuals": residuals,
    }
