"""Lift of an airfoil: potential flow with the circulation that lets it leave the trailing edge smoothly.

The stream function is ψ = y cos α - x sin α + u. It is zero on the airfoil, and u ~ -Q log |x| / 2π carries the
circulation Γ = -Q, clockwise. The density is minus the velocity along the airfoil.
"""

import jax.numpy as jnp

import edgewise as ew

ew.enable_x64()

tail, thickness, camber, attack = jnp.pi / 9, 0.1, 0.1, 0.1
uniform = lambda x: x[1] * jnp.cos(attack) - x[0] * jnp.sin(attack)
airfoil, layer = ew.Airfoil(float(tail), thickness, camber), ew.SingleLayer(ew.Laplace(dim=2))
box = ew.Box(Q=(-10.0, 10.0))
problem = ew.Problem(airfoil, box, layer, lambda x: -uniform(x), "exterior", at_infinity="Q")
flows = ew.solve(problem, Q=jnp.array([0.0, 1.0]), quadrature=ew.Graded(768))

# Kutta's condition. At the edge ψ = K r^(1/m) sin(θ/m) + ..., with velocities of K r^(1/m - 1) on both faces, one
# towards the edge, one away from it. Their densities have one sign, those of the next term opposite ones: at two nodes
# equally far from the edge the sum of densities is K alone, up to r^(2/m). The nodes reach 1e-30: r = 1e-9 will do.
distance = jnp.linalg.norm(flows.boundary.offset[0], axis=-1)
near = int(jnp.argmin(jnp.abs(jnp.log(distance[:384] / 1e-9))))
still, unit = (flows.density.values[i, near] + flows.density.values[i, -1 - near] for i in (0, 1))
circulation = still / (unit - still)

# The truth: the flow around the circle of radius R, mapped. The map is z ~ Z at infinity, so that Γ is the circle's.
centre, m = -thickness + 1j * camber, 2 - tail / jnp.pi
R = abs(1 - centre)
gamma = 4 * jnp.pi * R * jnp.sin(attack + jnp.arcsin(camber / R))
print(f"circulation {circulation:.9f}, of the conformal map {gamma:.9f}")
assert abs(circulation - gamma) < 1e-7

way = 1.05 * R * jnp.exp(1j * jnp.linspace(0, 6, 25))
Z = centre + way
quotient = ((Z - 1) / (Z + 1)) ** m
z, dz = m * (1 + quotient) / (1 - quotient), 4 * m**2 * quotient / (1 - quotient) ** 2 / (Z**2 - 1)
truth = (jnp.exp(-1j * attack) - jnp.exp(1j * attack) * (R / way) ** 2 + 0.5j * gamma / jnp.pi / way) / dz  # vx - i vy
slope = flows.gradient(jnp.stack([z.real, z.imag], axis=-1))
slope = slope[0] - circulation * (slope[1] - slope[0])
velocity = jnp.cos(attack) + slope[:, 1] - 1j * (jnp.sin(attack) - slope[:, 0])
print(f"{flows.result}; velocity around the airfoil, error {jnp.max(jnp.abs(velocity - truth)):.1e}")
assert jnp.max(jnp.abs(velocity - truth)) < 1e-7
