"""Charge on conducting ellipses: it crowds where they are sharp, by a formula that the densities meet to rounding.

`python examples/charged_ellipses.py density.png` draws the densities along the boundary.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

# Potential zero on the ellipse and so within; all of the charge Q = 1 sits on it, and is the density.
problem = ew.Problem(
    family=ew.Ellipse("a", 1.0),
    parameters=ew.Box(a=(1.0, 4.0)),
    representation=ew.SingleLayer(ew.Laplace(dim=2)),
    data=lambda x: 0.0 * x[0],
    side="exterior",
    at_infinity=1.0,
)
a = jnp.array([1.0, 1.5, 2.5, 4.0])
conductors = ew.solve(problem, a=a, quadrature=ew.Kress(192))
s = conductors.boundary.s
truth = 1 / (2 * jnp.pi * jnp.hypot(a[:, None] * jnp.sin(s), jnp.cos(s)))
error = jnp.max(jnp.abs(conductors.density.values - truth))
charge = jnp.sum(conductors.density.values * conductors.boundary.weight, axis=1)
print(f"{conductors}; density wrong by {error:.1e}, charges {charge.round(12)}")
assert error < 1e-10 and jnp.max(jnp.abs(charge - 1)) < 1e-10

if len(sys.argv) > 1:
    plot.density_figure(conductors).savefig(sys.argv[1])
