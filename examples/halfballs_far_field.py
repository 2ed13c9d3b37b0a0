"""Where two half-balls send sound: the far field over all directions, by an operator, and reciprocity.

`python examples/halfballs_far_field.py far.png` draws it on the sphere of directions.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("helmholtz-halfballs")
along, toward = jnp.array([0.6, 0.0, 0.8]), jnp.array([0.0, -0.6, 0.8])
scattered = operator(t=0.265, direction=along)
there, back = scattered.far_field(toward), operator(t=0.265, direction=-toward).far_field(-along)
print(f"{scattered}; reciprocity missed by {abs(there / back - 1):.1e}")
assert abs(there / back - 1) < 1e-3

if len(sys.argv) > 1:
    plot.far_field_sphere_figure(operator(t=0.265)).savefig(sys.argv[1])
