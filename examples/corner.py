"""An L-shaped domain and the solution that its inward corner makes singular: r^(2/3) sin(2θ/3).

`python examples/corner.py corner.png` draws truth, solution and error.
"""

import sys

import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

vertices = [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)]


def u(x):
    angle = jnp.arctan2(x[1], x[0])
    angle = jnp.where(angle < 0, angle + 2 * jnp.pi, angle)  # from 0 to 3π/2 inside the L
    return jnp.hypot(x[0], x[1]) ** (2 / 3) * jnp.sin(2 / 3 * angle)


problem = ew.Problem(ew.Polygon(vertices), None, ew.SingleLayer(ew.Laplace(dim=2)), u, "interior", exact=u)
solution = ew.solve(problem)

# Straight into the corner; the gradient there is infinite, r^(-1/3).
for distance in (1e-2, 1e-4, 1e-8, 1e-12):
    x = distance * jnp.array([-0.6, 0.8])
    slope = jax.grad(u)(x)
    error, of_slope = abs(solution(x) - u(x)), jnp.linalg.norm(solution.gradient(x) - slope) / jnp.linalg.norm(slope)
    print(f"{distance:.0e} from the corner: error {error:.1e}, of the gradient {of_slope:.1e} of itself")
    assert error < 1e-9
print(f"{solution.result}, {solution.quadrature.num_nodes} nodes")

if len(sys.argv) > 1:
    plot.field_figure(solution, resolution=161, estimate=False).savefig(sys.argv[1])
