"""Twenty domains, one call: the field inside each with the same data, against a classical solve of all twenty.

`python examples/twenty_shapes.py shapes.png` draws them.
"""

import sys

import jax
import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("laplace-shapes")  # u = x² on the boundary: another field in every domain
shapes = operator.problem.parameters.sample(jax.random.key(3), 20)
answers = operator(**shapes)
solved = ew.solve(operator.problem, quadrature=ew.Kress(192), **shapes)
points = jnp.array([[0.0, 0.0], [0.5, 0.1], [-0.3, -0.4], [0.1, 0.6]])  # inside all of them
error = jnp.max(jnp.abs(answers(points) - solved(points)))
print(f"{answers}; against solve {error:.1e} at four points of each")
assert error < 1e-3

if len(sys.argv) > 1:
    plot.mosaic_figure(answers, columns=5).savefig(sys.argv[1])
