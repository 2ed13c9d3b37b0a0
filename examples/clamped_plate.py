"""A clamped plate under its own weight: Δ²w = 1 inside, w = ∂w/∂n = 0 on the edge.

`python examples/clamped_plate.py plate.png` draws the deflection.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew
from edgewise import plot

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

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure((10, 2.1), layout="constrained")
    axes = figure.subplots(1, 3, sharey=True)
    for ax, sample in zip(axes, plot.sample_field(solution, 140), strict=True):
        bent = 1000 * np.maximum(sample.value + np.sum(sample.points**2, axis=-1) ** 2 / 64, 0)
        image = ax.tricontourf(*sample.points.T, bent, levels=np.linspace(0, 40, 61), cmap="viridis")
        ax.tricontour(*sample.points.T, bent, levels=np.arange(4, 40, 4), colors="white", linewidths=0.6)
        ax.plot(*sample.curves[0].T, color="black", linewidth=1.4, solid_capstyle="round")
        ax.set(title=f"a = {sample.parameters['a']:.1f}, at most {bent.max():.1f}", aspect="equal")
        ax.set(xlim=sample.box[:, 0], ylim=sample.box[:, 1])
        ax.set_axis_off()
    figure.colorbar(image, ax=axes, label="1000 × deflection", ticks=range(0, 41, 8))
    figure.savefig(sys.argv[1])
