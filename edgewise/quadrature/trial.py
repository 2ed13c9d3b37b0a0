"""A kernel tried on an ellipse: its layers, the fields beside the curve, their jumps across it, Kress's rule on it."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.geometry import Boundary, Ellipse
from edgewise.kernels import LAYERS, AbstractKernel
from edgewise.quadrature.curves.close import CLOSE_OVERSAMPLING, SmoothSource
from edgewise.quadrature.curves.periodic import Kress
from edgewise.quadrature.curves.source import Layers
from edgewise.special import derivative

# Enough for some ten wavelengths or decay lengths round the ellipse.
NODES = 96


def worst(error: Array, scale: Array) -> float:
    """The largest error relative to the scale; infinite where it is no number."""
    return float(jnp.max(jnp.nan_to_num(jnp.abs(error) / jnp.maximum(scale, jnp.finfo(float).tiny), nan=jnp.inf)))


def run(function: Callable, *arguments):
    """Compiled for one call, in haste; with nodes as arguments, since XLA takes minutes over constants."""
    haste = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
    return jax.jit(function, compiler_options=haste)(*arguments)


def layers_error(kernel: AbstractKernel, size: float) -> float:
    """The layers against derivatives of G, and against each other with target and source exchanged."""
    nodes, first = ellipse(10, size)[0], jax.jacfwd(kernel.fundamental)
    here, there = _every(2, nodes), _every(2, nodes, 1)

    def pair(t, s):
        d = t.x - s.x
        slope, hessian = first(d), jax.jacfwd(first)(d)
        truth = kernel.fundamental(d), -slope @ s.normal, slope @ t.normal, -t.normal @ hessian @ s.normal
        return jnp.stack(truth), jnp.stack([kernel(t, s, layer) for layer in LAYERS])

    both = (
        jax.tree_util.tree_map(lambda a, b: jnp.concatenate([a, b]), *order) for order in ((here, there), (there, here))
    )
    truth, made = run(jax.vmap(pair), *both)
    scale = jnp.abs(truth).max(axis=0)
    return max(worst(made - truth, scale), worst(made[:5] - made[5:, jnp.array([0, 2, 1, 3])], scale))


def _every(step: int, nodes: Boundary, start: int = 0) -> Boundary:
    return jax.tree_util.tree_map(lambda leaf: leaf[start::step], nodes)


def on_ellipse(kernel: AbstractKernel, size: float) -> tuple[float, ...]:
    """Errors of fields at 0.01 from the curve, of their jumps across it, and of Kress's rule on it."""
    nodes, density = ellipse(NODES, size)
    steps = size * np.repeat([0.01, -0.01, 1e-6, -1e-6, 2e-6, -2e-6], 8)[:, None]
    targets = jax.tree_util.tree_map(lambda leaf: jnp.concatenate([leaf] * 6), _every(NODES // 8, nodes))
    targets = eqx.tree_at(lambda t: t.x, targets, targets.x + steps * targets.normal)

    def close(targets, fine, nodes, density):
        source = SmoothSource(fine)
        single = Layers(source, source.spread(density * nodes.jacobian), None, None)
        double = Layers(source, None, source.spread(density), source.spread(derivative(density)))

        def one(t):
            weights = source.weights(t.x, True)[0]
            values = [kernel.potential(layer, t.x, weights) for layer in (single, double)]
            return jnp.stack(
                [*values, *(kernel.gradient(layer, t.x, weights) @ t.normal for layer in (single, double))]
            )

        return jax.vmap(one)(targets)

    def plain(targets, nodes, density):
        row = lambda t, layer: jax.vmap(lambda s: kernel(t, s, layer))(nodes) @ (nodes.weight * density)
        return jax.vmap(lambda t: jnp.stack([row(t, layer) for layer in LAYERS]))(targets)

    def on_curve(nodes, density):
        return jnp.stack([Kress(NODES).matrix(kernel, layer, nodes) @ density for layer in LAYERS], axis=1)

    values = run(close, targets, ellipse(CLOSE_OVERSAMPLING * NODES, size)[0], nodes, density).reshape(6, 8, 4)
    truth = run(plain, jax.tree_util.tree_map(lambda leaf: leaf[:16], targets), *ellipse(4096, size))
    # Extrapolated to the curve from either side.
    outside, inside = 2 * values[2] - values[4], 2 * values[3] - values[5]
    jump = jnp.outer(density[:: NODES // 8], jnp.array([0, 1, -1, 0])) * (kernel.order == 2)
    limit = run(on_curve, nodes, density)[:: NODES // 8]
    errors = values[:2].reshape(16, 4) - truth, outside - inside - jump, limit - (outside + inside) / 2
    return tuple(worst(error, jnp.abs(truth).max(axis=0)) for error in errors)


def ellipse(count: int, size: float) -> tuple[Boundary, Array]:
    """Nodes, and a density there."""
    s, step = (jnp.asarray(part) for part in Kress(count).grid())
    nodes = run(lambda s, step: Ellipse(size, 0.7 * size).boundary(s, step, {}), s, step)
    return nodes, jnp.exp(jnp.sin(nodes.s) + 0.4 * jnp.cos(2 * nodes.s))
