"""A clamped plate under its own weight: Δ²w = 1 inside, w = ∂w/∂n = 0 on the edge."""

import jax
import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

# w = |x|⁴/64 + u with Δ²u = 0: the first part carries the load, u repairs the edge.
load = lambda x: (x @ x) ** 2 / 64
data = lambda x, normal: (-load(x), -jax.grad(load)(x) @ normal)
plate = ew.LayerPair(ew.Biharmonic(dim=2))
problem = ew.Problem(ew.Ellipse("a", 1.0), ew.Box(a=(1.2, 2.0)), plate, data, "interior", ew.Clamped())
solution = ew.solve(problem, a=jnp.array([1.2, 1.5, 2.0]))

# On an ellipse w is a multiple of (1 - x²/a² - y²/b²)².
a = solution.parameters["a"]
exact = lambda x, a: (1 - x[0] ** 2 / a**2 - x[1] ** 2) ** 2 / (24 / a**4 + 24 + 16 / a**2)
points = jnp.array([[0.0, 0.0], [0.4, -0.7], [1 - 1e-9, 0.0]])
deflection = solution(points) + jax.vmap(load)(points)
truth = jax.vmap(lambda a: jax.vmap(lambda x: exact(x, a))(points))(a)
error = jnp.max(jnp.abs(deflection - truth))
print(f"{solution.result}; deflection at the centre {deflection[:, 0].round(8)}, error {error:.1e}")
assert error < 1e-11
