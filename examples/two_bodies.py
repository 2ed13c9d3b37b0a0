"""Two circles 0.01 apart: the field in the gap, with the nodes that the library chooses.

`python examples/two_bodies.py bodies.png` draws it.
"""

import sys

import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

gap = 0.01
bodies = ew.Union(ew.Ellipse(1.0, 1.0), ew.Translate(ew.Ellipse(1.0, 1.0), (2.0 + gap, 0.0)))
# A charge inside each body, 0.25 from the gap: a known field outside both, steep in the gap.
places, charges = jnp.array([[0.75, 0.0], [1.25 + gap, 0.05]]), jnp.array([2.0, -1.0])
u = lambda x: -jnp.log(jnp.sum((x - places) ** 2, axis=-1)) @ charges / (4 * jnp.pi)
layer = ew.SingleLayer(ew.Laplace(dim=2))
solution = ew.solve(ew.Problem(bodies, None, layer, u, "exterior", at_infinity=charges.sum(), exact=u))

# Across the gap from one body to the other, beginning and ending 1e-10 from them, and farther out.
across = 1 + gap * jnp.linspace(1e-8, 1 - 1e-8, 21)
points = jnp.concatenate([jnp.stack([across, jnp.zeros(21)], axis=-1), jnp.array([[1.0, 2.0], [-3.0, 0.5]])])
error = jnp.max(jnp.abs(solution(points) - jax.vmap(u)(points)))
print(f"{solution.result}, {solution.quadrature.num_nodes} nodes on each circle, error {error:.1e}")
assert error < 1e-10
assert abs(solution.at_infinity) < 1e-10

if len(sys.argv) > 1:
    samples = plot.sample_field(solution, 180, box=[(-1.5, -1.7), (3.5, 1.7)])
    plot.field_figure(solution, samples=samples, estimate=False).savefig(sys.argv[1])
