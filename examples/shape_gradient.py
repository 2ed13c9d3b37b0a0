"""Which way to push the boundary so that the field at a point grows fastest: the gradient through an operator.

`python examples/shape_gradient.py arrows.png` draws it.
"""

import sys

import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise import plot
from edgewise.presets.laplace_shapes import waves

ew.enable_x64()

operator = ew.pretrained("laplace-shapes")
point = jnp.array([0.45, 0.3])
shape = {"a": jnp.array([0.06, -0.05, 0.03, 0.04]), "b": jnp.array([-0.04, 0.06, 0.02, -0.03])}


def value(shape):
    return operator(**shape)(point)


slope = jax.grad(value)(shape)
size = jnp.sqrt(sum(jnp.sum(part**2) for part in slope.values()))
step = {name: 0.01 * part / size for name, part in slope.items()}
forth, back = ({name: shape[name] + sign * step[name] for name in shape} for sign in (1, -1))
gain, straight = (value(forth) - value(back)) / 2, 0.01 * size
print(f"u at the point {value(shape):.6f}; a step of 0.01 adds {gain:.6f}, by the gradient {straight:.6f}")
assert abs(gain / straight - 1) < 1e-3

if len(sys.argv) > 1:
    figure = plot.field_figure(operator(**shape), estimate=False)
    ax = figure.axes[0]
    s = jnp.linspace(0, 2 * jnp.pi, 48, endpoint=False)
    x = jax.vmap(lambda s: operator.problem.family.point(s, **shape))(s)
    push = jax.vmap(lambda s: waves(s, **slope))(s)[:, None] * jnp.stack([jnp.cos(s), jnp.sin(s)], axis=-1)
    ax.quiver(*x.T, *push.T, color="tab:red", width=0.006, zorder=4)
    ax.plot(*point, "o", color="tab:red")
    ax.set(xlim=(-1.7, 1.7), ylim=(-1.7, 1.7))
    figure.savefig(sys.argv[1])
