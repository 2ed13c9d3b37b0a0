"""Several curves: each acts on itself by a rule of its own, and on the others as a source of a field."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.quadrature.curves.source import AbstractSource, Layers, by_rows, spread_rows
from edgewise.special import derivative

# Pairs of target and source node held at once for two curves; a pair takes some 200 bytes.
PAIRS = 2**18


def block_matrix(
    kernel: AbstractKernel,
    layer: Layer,
    rule: Any,
    boundary: Boundary,
    sources: AbstractSource,
    sampling: int,
) -> Inexact[Array, "*value cn cn"]:
    """The layer on c curves of n nodes each; `sources` has a leading axis of c."""
    curves = boundary.split()
    count, n = curves.s.shape
    own = jax.vmap(lambda curve: rule.matrix(kernel, layer, curve, sampling=sampling))(curves)
    target, source = np.nonzero(~np.eye(count, dtype=bool))

    def pick(tree, index):
        return jax.tree_util.tree_map(lambda leaf: leaf[index], tree)

    others = jax.vmap(lambda t, s, jacobian: cross_matrix(kernel, layer, t, s, jacobian))(
        pick(curves, target), pick(sources, source), curves.jacobian[source]
    )
    # Value axes stand before those of nodes; the blocks of curves come in between.
    shape = own.shape[1:-2]
    blocks = jnp.zeros((count, count, *shape, n, n), jnp.result_type(own, others))
    blocks = blocks.at[np.arange(count), np.arange(count)].set(own).at[target, source].set(others)
    blocks = jnp.moveaxis(blocks, (0, 1), (-4, -3)).swapaxes(-3, -2)
    return blocks.reshape(*shape, count * n, count * n)


def cross_matrix(
    kernel: AbstractKernel, layer: Layer, target: Boundary, source: AbstractSource, jacobian: Array
) -> Inexact[Array, "*value m n"]:
    """The layer from one curve to the nodes of another, accurate however close the two are.

    A row is the evaluation of the field at a target, which is linear in the density: transposed by JAX.
    """
    n = jacobian.shape[0]
    kernel_dtype = jax.eval_shape(lambda x: kernel.layer("single", x, x, x), target.x[0]).dtype
    dtype = jnp.result_type(kernel_dtype, target.x.dtype)
    columns = kernel.value_shape[1:]
    unknown = jax.ShapeDtypeStruct((*columns, n), dtype)

    def row(node):
        x, normal = node
        # No node lies on another curve: which limit is taken there does not matter.
        weights, _, _ = source.weights(x, left=True)

        def field(strength):
            fine = spread_rows(source, strength)
            if layer in ("single", "adjoint_double"):
                layers = Layers(source, fine, None, None)
            else:
                layers = Layers(source, None, fine, spread_rows(source, by_rows(derivative, strength)))
            if layer in ("single", "double"):
                return kernel.potential(layers, x, weights)
            return kernel.gradient(layers, x, weights) @ normal

        transposed = jax.linear_transpose(field, unknown)
        if not columns:
            return transposed(jnp.ones((), dtype))[0]
        return jax.vmap(lambda component: transposed(component)[0])(jnp.eye(columns[0], dtype=dtype))

    batch = max(1, min(n, PAIRS // source.step.shape[0]))
    rows = jnp.moveaxis(jax.lax.map(row, (target.x, target.normal), batch_size=batch), 0, -2)
    return rows * jacobian if layer in ("single", "adjoint_double") else rows
