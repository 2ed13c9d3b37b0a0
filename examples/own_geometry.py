"""A curve of one's own, with Neumann data that read the normal."""

import jax
import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

bean = ew.Curve(lambda s, a: (jnp.cos(s) + a * jnp.cos(2 * s), jnp.sin(s)))
u = lambda x: x[0] ** 2 - x[1] ** 2
problem = ew.Problem(
    family=bean,
    parameters=ew.Box(a=(0.0, 0.4)),
    representation=ew.SingleLayer(ew.Laplace(dim=2)),
    data=lambda x, normal: jax.grad(u)(x) @ normal,
    side="interior",
    condition=ew.Neumann(),
)
solution = ew.solve(problem, a=jnp.array([0.1, 0.25, 0.4]))

# Neumann data leave a constant open (edgewise takes mean zero on the boundary): differences and gradients are decided.
p, q = jnp.array([0.2, 0.1]), jnp.array([-0.4, 0.3])
error = jnp.max(jnp.abs(solution(p) - solution(q) - (u(p) - u(q))))
slope = jnp.max(jnp.abs(solution.gradient(p) - jax.grad(u)(p)))
print(f"three members: error {error:.1e}, of the gradient {slope:.1e}")
assert error < 1e-10 and slope < 1e-9
