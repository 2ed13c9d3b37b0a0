"""One Dirichlet problem inside a curve, to machine precision up to the boundary."""

import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

u = lambda x: jnp.exp(x[0]) * jnp.sin(x[1])
problem = ew.Problem(
    family=ew.StarCurve(lambda s, t: 1 + 0.2 * t * jnp.sin(4 * s)),
    parameters=ew.Box(t=(0.5, 1.5)),
    representation=ew.SingleLayer(ew.Laplace(dim=2)),
    data=u,
    side="interior",
)
solution = ew.solve(problem, t=1.15)
points = jnp.array([[0.3, 0.2], [1 - 1e-9, 0.0]])  # the second is 1e-9 from the boundary, which passes through (1, 0)
error = jnp.max(jnp.abs(solution(points) - jnp.array([u(x) for x in points])))
print(f"{solution.result}, {solution.stats['num_nodes']} nodes, error {error:.1e}")
assert error < 1e-11
