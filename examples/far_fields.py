"""Far fields of one body over the wavenumber, and reciprocity: what goes from d to e goes from -e to -d.

`python examples/far_fields.py far.png` draws them.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("helmholtz-star")
body = {"a": 0.15, "b": -0.1}
family = operator(k=jnp.array([1.0, 2.0, 4.0, 8.0]), angle=0.0, **body)


def toward(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)


came, goes = jnp.array([0.3, 1.1, 4.0]), jnp.array([2.0, 5.0, 0.4])
there = jnp.diagonal(operator(k=3.0, angle=came, **body).far_field(toward(goes)))
back = jnp.diagonal(operator(k=3.0, angle=goes + jnp.pi, **body).far_field(toward(came + jnp.pi)))
missed = jnp.max(jnp.abs(there - back) / jnp.abs(there))
print(f"{family}; reciprocity missed by {missed:.1e}")
assert missed < 1e-2

if len(sys.argv) > 1:
    plot.far_field_figure(family).savefig(sys.argv[1])
