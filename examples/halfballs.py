"""Sound meets two half-balls, the unit ball cut and pulled apart: far field ahead and back, and what energy says about it.

`python examples/halfballs.py halfballs.png` draws the total field on a slice.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

k = 2 * jnp.pi
problem = ew.Problem(
    family=ew.HalfBalls(),  # the halves are moved by t, up and down: the gap is 2t wide
    parameters=ew.Box(t=(0.05, 0.5), direction=ew.Direction(3, default=(0, 0, 1))),
    representation=ew.CombinedField(ew.Helmholtz(dim=3, wavenumber=k)),
    data=ew.PlaneWave("direction"),
    side="exterior",
)
# 6 x 6 nodes on each of 20 patches: two digits. Duffy(8) has three, Duffy(12) five.
solution = ew.solve(problem, t=0.265, quadrature=ew.Duffy(6), tol=1e-2)
ahead = jnp.array([0.0, 0.0, 1.0])
forward, back = solution.far_field(jnp.stack([ahead, -ahead]))
print(f"{solution.result}, {len(solution.boundary.x)} nodes")
print(f"far field ahead {forward:.4f}, back {back:.4f}")

# The optical theorem: the energy scattered everywhere is what is missing straight ahead.
section, theorem = solution.cross_section(), 4 * jnp.pi / k * forward.imag
print(f"cross-section {section:.4f}, optical theorem missed by {abs(section / theorem - 1):.1e} of it")
assert abs(section / theorem - 1) < 1e-2

if len(sys.argv) > 1:
    plot.slice_figure(solution, box=[(-4.0, -4.0), (4.0, 4.0)], resolution=160).savefig(sys.argv[1])
