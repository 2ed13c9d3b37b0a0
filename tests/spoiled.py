"""Solutions that are wrong on purpose, by known amounts."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from edgewise.solution import Solution


def spoiled(solution: Solution, noise: float, modes: int = 20, seed: int = 0) -> Solution:
    """Random waves, so many of them, added to the layers of a solution."""
    rng = np.random.default_rng(seed)

    def spoil(values):
        if values is None:
            return None
        s = 2 * np.pi * np.arange(values.shape[-1]) / values.shape[-1]
        draws = rng.standard_normal((2, modes, 2)) / np.sqrt(modes)
        real, imaginary = (
            np.cos(np.outer(s, range(modes))) @ d[:, 0] + np.sin(np.outer(s, range(modes))) @ d[:, 1] for d in draws
        )
        wave = real + 1j * imaginary if jnp.iscomplexobj(values) else real
        return values + noise * jnp.max(jnp.abs(values)) * wave

    changed = tuple(
        dataclasses.replace(layers, single=spoil(layers.single), double=spoil(layers.double))
        for layers in solution.strengths
    )
    return eqx.tree_at(lambda s: s.strengths, solution, changed)
