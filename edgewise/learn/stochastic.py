"""Gauss-Newton with other members every step, whose noise is averaged by momentum and by ever shorter steps.

Reference: G. Goldshlager, N. Abrahamsen and L. Lin, "A Kaczmarz-inspired approach to accelerate the optimization of neural
network wavefunctions", 2024 (SPRING).
"""

from collections.abc import Callable

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
# No step is longer than this, so that one draw cannot throw the weights far away.
LONGEST = 0.3


def start(weights: Float[Array, " P"], members: int) -> State:
    return {
        "weights": weights,
        "momentum": jnp.zeros_like(weights),
        "loss": jnp.asarray(jnp.inf, weights.dtype),
        # Of every member the last that was seen of its residual; at first all are as bad.
        "residuals": jnp.ones(members, weights.dtype),
    }


def pick(key: Array, residuals: Float[Array, " b"], count: int) -> Array:
    """Members for one step: half of them evenly, half by how large their residuals are."""
    share = residuals**2 / jnp.sum(residuals**2)
    return jax.random.choice(key, len(residuals), (count,), replace=False, p=0.5 / len(residuals) + 0.5 * share)


def step(
    state: State, look: Callable[[Array, Array], tuple[Array, Array, Array]], recipe: OptimiserRecipe, number: Array
) -> State:
    """One step with the rows that `look(weights, residuals)` draws: Jacobian, residual, and who was drawn with what is left.

    d = μ d' + Jᵀ(JJᵀ + λ)⁻¹(r - μ J d'), where d' is the step before.
    """
    weights, before = state["weights"], recipe.momentum * state["momentum"]
    jacobian, residual, (drawn, sizes) = look(weights, state["residuals"])
    progress = number / recipe.steps
    damping = recipe.damping * LAST_DAMPING**progress
    gram = jacobian @ jacobian.T
    factor = jax.scipy.linalg.cho_factor(gram + damping * jnp.eye(len(gram), dtype=gram.dtype))
    move = before + jacobian.T @ jax.scipy.linalg.cho_solve(factor, residual - jacobian @ before)
    tail = jnp.clip((progress - FULL) / (1 - FULL), 0, 1)
    length = recipe.rate * (1 + jnp.cos(np.pi * tail)) / 2
    norm = jnp.linalg.norm(move)
    taken = length * move * jnp.minimum(1, LONGEST / jnp.where(norm > 0, norm, 1))
    return {
        "weights": weights - taken,
        "momentum": move,
        "loss": jnp.sum(residual**2),
        "residuals": state["residuals"].at[drawn].set(sizes),
    }
