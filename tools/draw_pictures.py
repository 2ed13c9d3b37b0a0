"""Draw the pictures of docs/images that the command `edgewise demo` does not: all of them, or those named."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from matplotlib.tri import Triangulation

import edgewise as ew
from edgewise import plot, plot_space
from edgewise.evaluation import measure
from edgewise.testing import damaged

ew.enable_x64()
folder = Path(__file__).resolve().parent.parent / "docs" / "images"
LAPLACE = ew.SingleLayer(ew.Laplace(dim=2))


def save(figure, name, dpi=100):
    figure.savefig(folder / name, dpi=dpi, pil_kwargs={"optimize": True})
    print(f"{name}: {(folder / name).stat().st_size / 1000:.0f} kB", flush=True)


def scattering():
    """A kite, an ellipse and a star in a plane wave, sound-soft."""
    bodies = ew.Union(
        ew.Translate(ew.Kite(), (3.1, -0.1)),
        ew.Translate(ew.Rotate(ew.Ellipse(1.1, 0.45), 0.6), (-0.7, 1.5)),
        ew.Translate(ew.Scale(ew.StarCurve(lambda s: 1 + 0.25 * jnp.cos(5 * s)), 0.75), (-0.4, -1.4)),
    )
    layers = ew.CombinedField(ew.Helmholtz(dim=2, wavenumber=11.0))
    solution = ew.solve(ew.Problem(bodies, None, layers, ew.PlaneWave(0.0), "exterior"))
    samples = plot.sample_field(solution, 420, box=[(-3.0, -3.0), (5.6, 3.0)])
    figure = plot.field_figure(solution, samples=samples)
    figure.set_size_inches(10.4, 3.3)
    for ax in figure.axes[:2]:
        for line in ax.lines:
            ax.fill(*line.get_data(), color="0.12", zorder=3)
        ax.set(title="", xlabel="", ylabel="", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    save(figure, "scattering.png", dpi=88)


def corner():
    """An L with a charge-free field that is zero on its boundary's notch: the corner's own singular solution."""
    vertices = [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)]

    def u(x):
        angle = jnp.arctan2(x[1], x[0])
        return jnp.hypot(x[0], x[1]) ** (2 / 3) * jnp.sin(2 / 3 * jnp.where(angle < 0, angle + 2 * jnp.pi, angle))

    solution = ew.solve(ew.Problem(ew.Polygon(vertices), None, LAPLACE, u, "interior", exact=u))
    save(plot.field_figure(solution, resolution=161), "corner.png")


def airfoil():
    """Streamlines with Kutta's condition, coloured by speed."""
    attack = 0.2
    uniform = lambda x: x[..., 1] * jnp.cos(attack) - x[..., 0] * jnp.sin(attack)
    family = ew.Airfoil(float(jnp.pi / 9), 0.1, 0.15)
    problem = ew.Problem(family, ew.Box(Q=(-10.0, 10.0)), LAPLACE, lambda x: -uniform(x), "exterior", at_infinity="Q")
    flows = ew.solve(problem, Q=jnp.array([0.0, 1.0]), quadrature=ew.Graded(768))
    distance = jnp.linalg.norm(flows.boundary.offset[0], axis=-1)
    near = int(jnp.argmin(jnp.abs(jnp.log(distance[:384] / 1e-9))))
    still, unit = (flows.density.values[i, near] + flows.density.values[i, -1 - near] for i in (0, 1))
    circulation = still / (unit - still)
    x, y = np.meshgrid(np.linspace(-3.3, 3.9, 241), np.linspace(-1.9, 2.1, 134))
    nodes = jax.tree_util.tree_map(lambda leaf: leaf[0, ::3], flows.boundary)
    points = np.concatenate([np.stack([x, y], axis=-1).reshape(-1, 2), nodes.x + 1e-6 * nodes.normal])
    fields, slopes = np.asarray(flows(points)), np.asarray(flows.gradient(points))
    kept = np.isfinite(fields[0]) & np.all(np.isfinite(slopes[0]), axis=-1)
    points, fields, slopes = points[kept], fields[:, kept], slopes[:, kept]
    mesh = Triangulation(*points.T)
    outline = np.asarray(jax.vmap(family.point)(jnp.linspace(0, 2 * jnp.pi, 1201)))
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    for ax, gamma, title in zip(
        figure.subplots(1, 2, sharey=True),
        (0.0, circulation),
        ("without circulation", f"with Kutta's condition, Γ = {circulation:.3f}"),
        strict=True,
    ):
        stream = np.asarray(uniform(points)) + fields[0] - gamma * (fields[1] - fields[0])
        slope = slopes[0] - gamma * (slopes[1] - slopes[0])
        speed = np.hypot(np.cos(attack) + slope[..., 1], np.sin(attack) - slope[..., 0])
        image = ax.tripcolor(mesh, speed, vmin=0, vmax=2, cmap="RdYlBu_r", shading="gouraud", rasterized=True)
        ax.tricontour(mesh, stream, levels=np.arange(-5, 5, 0.2), colors="0.15", linewidths=0.8, linestyles="solid")
        ax.fill(*outline.T, color="0.12", zorder=3)
        ax.set(title=title, aspect="equal", xlim=(-3.3, 3.9), ylim=(-1.9, 2.1), xticks=[], yticks=[])
    figure.colorbar(image, ax=figure.axes, location="bottom", label="speed", fraction=0.05, aspect=40, pad=0.02)
    save(figure, "airfoil.png")


def plate():
    """Clamped plates under an even load: the deflection, and level lines of it."""
    load = lambda x: (x @ x) ** 2 / 64
    data = lambda x, normal: (-load(x), -jax.grad(load)(x) @ normal)
    family = ew.StarCurve(lambda s, t: 1 + 0.2 * t * jnp.sin(4 * s))
    pair = ew.LayerPair(ew.Biharmonic(dim=2))
    problem = ew.Problem(family, ew.Box(t=(0.0, 2.0)), pair, data, "interior", ew.Clamped())
    solution = ew.solve(problem, t=jnp.array([0.5, 1.0, 1.5]))
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    for ax, sample in zip(axes, plot.sample_field(solution, 160), strict=True):
        bent = 1000 * (sample.value + np.sum(sample.points**2, axis=-1) ** 2 / 64)
        image = ax.tricontourf(*sample.points.T, np.maximum(bent, 0), levels=np.linspace(0, 14, 57), cmap="viridis")
        lines = ax.tricontour(*sample.points.T, bent, levels=np.arange(1, 14, 2), colors="white", linewidths=0.6)
        region = plot._region(sample, "interior")
        for part in (image, lines):
            part.set_clip_path(region, ax.transData)
        ax.plot(*sample.curves[0].T, color="black", linewidth=1.4)
        ax.set(title=f"{sample.title}, at most {bent.max():.2f}", aspect="equal", xticks=[], yticks=[])
        ax.set(xlim=sample.box[:, 0], ylim=sample.box[:, 1])
        ax.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="1000 × deflection", ticks=range(0, 15, 2))
    save(figure, "plate.png")


def estimate():
    """What operators say of their errors: over the parameter, also outside the box, and for weights that were damaged."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    over, against = figure.subplots(1, 2)
    names = {"laplace-star": ("Laplace, bound", "C0"), "biharmonic-star": ("plate, estimate", "C1")}
    for name, (label, colour) in names.items():
        operator = ew.pretrained(name)
        t = np.linspace(0.5, 2.5, 81)
        solution = operator(t=jnp.asarray(t), extrapolate=True)
        over.plot(t, solution.error_estimate().value, color=colour, label=label)
        over.plot(
            t, measure(solution, resolution=60).max_error, ".", color=colour, markersize=5, label="error measured"
        )
        pairs = []
        for draw, noise in enumerate(10.0 ** np.linspace(-9, 0, 19)):
            few = jnp.asarray(np.random.default_rng(draw).uniform(1, 2, 4))
            wrong = damaged(operator, noise, draw)(t=few)
            pairs.append([measure(wrong, resolution=60).max_error, np.asarray(wrong.error_estimate().value)])
        against.loglog(*np.concatenate(pairs, axis=1), ".", color=colour, markersize=5, label=label)
    over.axvspan(1, 2, color="0.93", zorder=0)
    over.annotate("trained on", (1.5, 0.94), xycoords=("data", "axes fraction"), ha="center", va="top", color="0.4")
    over.set(yscale="log", xlabel="t", ylabel="largest error of the field")
    limits = np.array([1e-9, 1e2])
    for factor, style in ((1, "-"), (10, ":")):
        against.plot(limits, factor * limits, style, color="0.5", linewidth=0.9, zorder=0)
    against.annotate("estimate = error", (3e-7, 4e-8), color="0.4", fontsize=9)
    against.annotate("10 times", (2e-7, 1.2e-5), color="0.4", fontsize=9)
    against.set(xlabel="largest error measured, weights damaged", ylabel="what the operator says", xlim=limits)
    for ax in (over, against):
        ax.legend(frameon=False, fontsize=9)
        ax.grid(linewidth=0.4, alpha=0.6)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    save(figure, "estimate.png")


def space():
    """Two half-balls in a plane wave along their axis, at the gap that rings."""
    layers = ew.CombinedField(ew.Helmholtz(dim=3, wavenumber=2 * jnp.pi))
    problem = ew.Problem(ew.HalfBalls(), ew.Box(t=(0.05, 0.5)), layers, ew.PlaneWave((0.0, 0.0, 1.0)), "exterior")
    solution = ew.solve(problem, t=0.265, quadrature=ew.Duffy(10), tol=1e-2)
    figure = plot_space.slice_figure(solution, box=[(-4.0, -4.0), (4.0, 4.0)], resolution=200)
    for line in (line for ax in figure.axes for line in ax.lines):
        line.set_solid_capstyle("butt")  # an outline's end would show as a dot on it
    save(figure, "halfballs.png")
    save(plot_space.far_field_sphere_figure(solution), "halfballs-far.png")


def echo():
    """What the half-balls send back, over the gap and the direction: one call of the operator."""
    operator = ew.pretrained("helmholtz-halfballs")
    gaps, angles = np.linspace(0.05, 0.5, 136), np.linspace(0, np.pi / 2, 61)
    t, theta = (part.ravel() for part in np.meshgrid(gaps, angles))
    along = np.stack([np.sin(theta), 0 * theta, np.cos(theta)], axis=-1)
    # The amplitude where the wave came from, of each member in a direction of its own.
    back = jax.vmap(lambda t, d: operator(t=t, direction=d).far_field(-d))
    echoes = [np.abs(back(t[i : i + 61], along[i : i + 61])) for i in range(0, len(t), 61)]
    figure = Figure((8.4, 3.6), layout="constrained")
    ax = figure.subplots()
    values = np.concatenate(echoes).reshape(len(angles), -1)
    image = ax.pcolormesh(2 * gaps, np.degrees(angles), values, cmap="magma", shading="gouraud", vmin=0)
    figure.colorbar(image, ax=ax, label="|u_inf| of the echo", pad=0.02)
    ax.set(xlabel="gap between the flat faces, in wavelengths", ylabel="direction of the wave from the axis, degrees")
    ax.set(yticks=[0, 30, 60, 90], title=f"{len(t):,} scattering problems, one operator")
    save(figure, "echoes.png")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("scattering", "corner", "airfoil", "plate", "estimate", "space", "echo"):
        globals()[name]()
