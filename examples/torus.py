"""Sound meets a ring: what the wave leaves on it, and the optical theorem.

`python examples/torus.py torus.png` draws the density on the surface.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

k, along = 4.0, (0.6, 0.0, -0.8)
problem = ew.Problem(
    family=ew.Torus(1.0, 0.35),
    parameters=None,
    representation=ew.CombinedField(ew.Helmholtz(dim=3, wavenumber=k)),
    data=ew.PlaneWave(along),
    side="exterior",
)
solution = ew.solve(problem, quadrature=ew.Duffy(7), tol=1e-2)
section, theorem = solution.cross_section(), 4 * jnp.pi / k * solution.far_field(jnp.array(along)).imag
print(f"{solution}; cross-section {section:.4f}, optical theorem missed by {abs(section / theorem - 1):.1e} of it")
assert abs(section / theorem - 1) < 1e-2

if len(sys.argv) > 1:
    plot.density_figure(solution).savefig(sys.argv[1])
