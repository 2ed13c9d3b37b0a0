"""A plane wave meets a sound-soft kite: total field, far field, and what energy says about them."""

import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

problem = ew.Problem(
    family=ew.Kite(),
    parameters=ew.Box(k=(1.0, 20.0), angle=ew.Angle(0.0)),
    representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k")),
    data=ew.PlaneWave("angle"),
    side="exterior",
)
k, angles = 10.0, jnp.array([0.0, 1.0, 2.5])
solution = ew.solve(problem, k=k, angle=angles)  # three waves in one call

# A sound-soft body: incident and scattered field cancel on it, here 1e-9 away from a node.
node, normal = solution.boundary.x[:, 17], solution.boundary.normal[:, 17]
close = jnp.diagonal(solution.total(node + 1e-9 * normal))
print(
    f"{solution.result}, {solution.quadrature.num_nodes} nodes; total field next to the body {jnp.max(jnp.abs(close)):.1e}"
)
assert jnp.max(jnp.abs(close)) < 1e-7

# The optical theorem: the energy scattered everywhere is what is missing straight ahead.
ahead = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1)
forward = jnp.diagonal(solution.far_field(ahead))
theorem = -jnp.sqrt(8 * jnp.pi / k) * (jnp.exp(0.25j * jnp.pi) * forward).real
error = jnp.max(jnp.abs(solution.cross_section() - theorem))
print(f"cross-sections {solution.cross_section().round(6)}, optical theorem missed by {error:.1e}")
assert error < 1e-10
