"""A conducting spheroid in space: its capacity against the formula, and where its charge sits.

`python examples/charged_spheroid.py charge.png` draws the charge on the surface.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

problem = ew.Problem(
    family=ew.Ellipsoid(1.0, 1.0, "c"),
    parameters=ew.Box(c=(1.0, 3.0)),
    representation=ew.SingleLayer(ew.Laplace(dim=3)),
    data=lambda x: 1.0 + 0.0 * x[0],  # potential one
    side="exterior",
)
c = 2.0
conductor = ew.solve(problem, c=c, quadrature=ew.Duffy(8), tol=1e-3)
capacity = conductor.density.values @ conductor.boundary.weight
truth = 4 * jnp.pi * jnp.sqrt(c**2 - 1) / jnp.arccosh(c)
print(f"{conductor}; capacity {capacity:.6f}, by the formula {truth:.6f}")
assert abs(capacity / truth - 1) < 1e-4

if len(sys.argv) > 1:
    plot.density_figure(conductor).savefig(sys.argv[1])
