"""An operator for a family of your own: trained on the boundary alone, then compared with the classical solve."""

import dataclasses

import jax
import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

problem = ew.Problem(
    family=ew.StarCurve(lambda s, t: 1 + 0.1 * t * jnp.cos(3 * s)),
    parameters=ew.Box(t=(0.5, 1.5)),
    representation=ew.SingleLayer(ew.Laplace(dim=2)),
    data=lambda x: x[0] ** 2,
    side="interior",
)
# Plain `fit(problem)` has nodes enough for curves much harder than these; with half of them it takes less time.
recipe = ew.recipe("default", problem)
recipe = dataclasses.replace(
    recipe,
    network=dataclasses.replace(recipe.network, harmonics=40),
    collocation=dataclasses.replace(recipe.collocation, nodes=96),
    validation=dataclasses.replace(recipe.validation, nodes=128),
)
operator = ew.fit(problem, recipe)
print(operator.result)
assert operator.result.ok

t = jnp.linspace(0.5, 1.5, 11)
points = jnp.array([[0.3, 0.2], [0.0, -0.7], [1 / 3, 0.0]])
predicted, solved = operator(t=t), ew.solve(problem, t=t)
error = jnp.max(jnp.abs(predicted(points) - solved(points)))
print(f"11 members in one call, against solve: {error:.1e}")
assert error < 1e-8
assert jnp.all(predicted.stats["applications"] == 0)  # nothing was solved

slope = jax.grad(lambda t: operator(t=t)(points[0]))(1.0)
solved_slope = jax.grad(lambda t: ew.solve(problem, t=t)(points[0]))(1.0)
print(f"du/dt at the first point: {slope:.10f}, by solve {solved_slope:.10f}")
assert abs(slope - solved_slope) < 1e-7
