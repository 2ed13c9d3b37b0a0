"""Twenty-four bodies, each in a wave from another side: one call of an operator that has seen none of them.

`python examples/shapes_in_waves.py shapes.png` draws them.
"""

import sys

import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("helmholtz-shapes")
shapes = operator.problem.parameters.sample(jax.random.key(8), 24)
angle = jnp.linspace(0, 2 * jnp.pi, 24, endpoint=False)
scattered = operator(**{**shapes, "angle": angle})
print(f"{scattered}, {int(scattered.stats['applications'].sum())} solves")

# The optical theorem, which nobody trained for: the energy scattered everywhere is what is missing straight ahead.
ahead = jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
forward = jnp.diagonal(scattered.far_field(ahead))
theorem = -jnp.sqrt(8 * jnp.pi / 3.0) * (jnp.exp(0.25j * jnp.pi) * forward).real
missed = jnp.max(jnp.abs(scattered.cross_section() / theorem - 1))
print(f"optical theorem missed by {missed:.1e} at most")
assert missed < 5e-3

if len(sys.argv) > 1:
    figure = plot.mosaic_figure(scattered, columns=6, box=[(-3.2, -3.2), (3.2, 3.2)])
    figure.savefig(sys.argv[1])
