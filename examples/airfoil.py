"""Lift of an airfoil: potential flow with the circulation that lets it leave the trailing edge smoothly.

The stream function is ψ = y cos α - x sin α + u. It is zero on the airfoil, and u ~ -Q log |x| / 2π carries the
circulation Γ = -Q, clockwise. The density is minus the velocity along the airfoil.

`python examples/airfoil.py airfoil.png` draws streamlines, coloured by speed.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

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

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    x, y = np.meshgrid(np.linspace(-3.3, 3.9, 181), np.linspace(-1.9, 2.1, 101))
    nodes = jax.tree_util.tree_map(lambda leaf: leaf[0, ::3], flows.boundary)
    points = np.concatenate([np.stack([x, y], axis=-1).reshape(-1, 2), nodes.x + 1e-6 * nodes.normal])
    fields, slopes = np.asarray(flows(points)), np.asarray(flows.gradient(points))
    kept = np.isfinite(fields[0]) & np.all(np.isfinite(slopes[0]), axis=-1)
    points, fields, slopes = points[kept], fields[:, kept], slopes[:, kept]
    outline = np.asarray(jax.vmap(airfoil.point)(jnp.linspace(0, 2 * jnp.pi, 1201)))
    figure = Figure((9.6, 3.6), layout="constrained")
    titles = {"without circulation": 0.0, f"with Kutta's condition, Γ = {circulation:.3f}": circulation}
    for ax, (title, turning) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
        stream = np.asarray(uniform(points.T)) + fields[0] - turning * (fields[1] - fields[0])
        slope = slopes[0] - turning * (slopes[1] - slopes[0])
        speed = np.hypot(np.cos(attack) + slope[:, 1], np.sin(attack) - slope[:, 0])
        image = ax.tripcolor(*points.T, speed, vmin=0, vmax=2, cmap="cividis", shading="gouraud", rasterized=True)
        ax.tricontour(
            *points.T, stream, levels=np.arange(-5, 5, 0.2), colors="white", linewidths=0.8, linestyles="solid"
        )
        ax.fill(*outline.T, color="0.12", zorder=3)
        ax.set(title=title, aspect="equal", xlim=(-3.3, 3.9), ylim=(-1.9, 2.1), xticks=[], yticks=[])
    figure.colorbar(image, ax=figure.axes, location="bottom", label="speed", fraction=0.05, aspect=40, pad=0.02)
    figure.savefig(sys.argv[1])
