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
k, angle = 5.0, 0.3
solution = ew.solve(problem, k=k, angle=angle, quadrature=ew.Kress(320))

# A sound-soft body: incident and scattered field cancel on it, and so they nearly do 1e-9 away from it.
node, normal = solution.boundary.x[17], solution.boundary.normal[17]
close = abs(solution.total(node + 1e-9 * normal))
print(f"{solution.result}, {solution.quadrature.num_nodes} nodes; total field 1e-9 from the body {close:.1e}")
assert close < 1e-7

# The optical theorem: the energy scattered everywhere is what is missing straight ahead.
forward = solution.far_field(jnp.array([jnp.cos(angle), jnp.sin(angle)]))
theorem = -jnp.sqrt(8 * jnp.pi / k) * (jnp.exp(0.25j * jnp.pi) * forward).real
section = solution.cross_section()
print(f"cross-section {section:.12f}, optical theorem missed by {abs(section - theorem):.1e}")
assert abs(section - theorem) < 1e-10
