"""An operator that ships: 200 members in one call, the derivative in t, and a classical solve to check them by."""

import jax
import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

operator = ew.pretrained("laplace-quadratic")
t = jnp.linspace(1.0, 2.0, 200)
points = jnp.array([[0.3, 0.2], [-0.6, 0.3], [1.2, 0.3]])
sweep = operator(t=t)
u = sweep(points)  # (200, 3)
print(f"u at {points[0]}: {u[0, 0]:.6f} at t = 1, {u[-1, 0]:.6f} at t = 2")

few = jnp.array([0, 77, 199])
solved = ew.solve(operator.problem, t=t[few])
error = jnp.max(jnp.abs(u[few] - solved(points)))
print(f"three of them against solve: {error:.1e}")
assert error < 1e-9

slope = jax.grad(lambda t: operator(t=t)(points[0]))(1.5)
step = 1e-4
ends = ew.solve(operator.problem, t=jnp.array([1.5 - step, 1.5 + step]))(points[0])
difference = (ends[1] - ends[0]) / (2 * step)
print(f"du/dt at t = 1.5: {slope:.9f}, by a difference of two solves {difference:.9f}")
assert abs(slope - difference) < 1e-7
