"""A body changes its shape, and the wave around it: a batch of an operator, one frame a member.

`python examples/parameter_film.py film.gif` makes the film.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("helmholtz-star")  # waves of every angle around r = 1 + a cos 3s + b sin 2s, k from 1 to 10
a = jnp.linspace(-0.2, 0.2, 11)
family = operator(a=a, b=0.1, k=5.0, angle=0.0)
solved = ew.solve(operator.problem, a=a[0], b=0.1, k=5.0, angle=0.0, quadrature=ew.Kress(128))
directions = jnp.stack([jnp.cos(angle := jnp.linspace(0, 2 * jnp.pi, 64)), jnp.sin(angle)], axis=-1)
far, truth = family[0].far_field(directions), solved.far_field(directions)
error = jnp.linalg.norm(far - truth) / jnp.linalg.norm(truth)
print(f"{family}; far field of the first against solve {error:.1e}")
assert error < 1e-2

if len(sys.argv) > 1:
    plot.member_film(family, sys.argv[1], resolution=110, box=[(-2.6, -2.3), (2.6, 2.3)])
