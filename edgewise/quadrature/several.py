"""Several curves: each acts on itself by a rule of its own, and on the others as a source of a field."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.geometry import Boundary
from edgewise.kernels import AbstractKernel, Layer
from edgewise.quadrature.rule import AbstractQuadrature
from edgewise.quadrature.source import AbstractSource, Layers, gradient, potential
from edgewise.special import derivative

# Pairs of target and source node held at once for two curves; a pair takes some 200 bytes.
PAIRS = 2**18


def block_matrix(
    kernel: AbstractKernel,
    layer: Layer,
    rule: AbstractQuadrature,
    boundary: Boundary,
    sources: AbstractSource,
    sampling: int,
) -> Inexact[Array, "cn cn"]:
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
    blocks = jnp.zeros((count, count, n, n), jnp.result_type(own, others))
    blocks = blocks.at[np.arange(count), np.arange(count)].set(own).at[target, source].set(others)
    return blocks.transpose(0, 2, 1, 3).reshape(count * n, count * n)


def cross_matrix(
    kernel: AbstractKernel, layer: Layer, target: Boundary, source: AbstractSource, jacobian: Array
) -> Inexact[Array, "m n"]:
    """The layer from one curve to the nodes of another, accurate however close the two are.

    A row is the evaluation of the field at a target, which is linear in the density: transposed by JAX.
    """
    n = jacobian.shape[0]
    scalar = jax.eval_shape(kernel.radial, target.s[0])
    unknown = jax.ShapeDtypeStruct((n,), jnp.result_type(scalar.dtype, target.x.dtype))

    def row(node):
        x, normal = node
        # No node lies on another curve: which limit is taken there does not matter.
        weights, _, _ = source.weights(x, left=True)

        def field(strength):
            fine = source.spread(strength)
            if layer in ("single", "adjoint_double"):
                layers = Layers(source, fine, None, None)
            else:
                layers = Layers(source, None, fine, source.spread(derivative(strength)))
            if layer in ("single", "double"):
                return potential(kernel, layers, x, weights)
            return gradient(kernel, layers, x, weights) @ normal

        return jax.linear_transpose(field, unknown)(jnp.ones((), unknown.dtype))[0]

    batch = max(1, min(n, PAIRS // source.step.shape[0]))
    rows = jax.lax.map(row, (target.x, target.normal), batch_size=batch)
    return rows * jacobian if layer in ("single", "adjoint_double") else rows
