"""Draw the pictures of docs/images, all of them or those named: most by an example, two here, which take minutes."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import edgewise as ew
from edgewise.evaluation import measure
from edgewise.testing import damaged

ew.enable_x64()
root = Path(__file__).resolve().parent.parent
folder = root / "docs" / "images"
# Each is drawn by `python examples/NAME.py PICTURE`.
EXAMPLES = {
    "shapes-in-waves.png": "shapes_in_waves",
    "scattering.png": "three_bodies",
    "laplace-star.png": "paper_family",
    "twenty-shapes.png": "twenty_shapes",
    "wave-in-time.gif": "wave_in_time",
    "parameter-film.gif": "parameter_film",
    "far-fields.png": "far_fields",
    "density.png": "charged_ellipses",
    "outside-the-box.png": "outside_the_box",
    "shape-gradient.png": "shape_gradient",
    "resonance.png": "resonance",
    "two-bodies.png": "two_bodies",
    "corner.png": "corner",
    "airfoil.png": "airfoil",
    "plate.png": "clamped_plate",
    "halfballs.png": "halfballs",
    "halfballs-far.png": "halfballs_far_field",
    "torus.png": "torus",
    "spheroid.png": "charged_spheroid",
}


def draw(name):
    """By its example; a PNG of more than half a megabyte is stored in 256 colours."""
    path = folder / name
    env = os.environ | {"PYTHONPATH": str(root), "MPLBACKEND": "Agg"}
    subprocess.run([sys.executable, root / "examples" / f"{EXAMPLES[name]}.py", path], check=True, env=env)
    if path.suffix == ".png":
        picture = Image.open(path).convert("RGB")
        large = path.stat().st_size > 500_000
        (picture.quantize(256, dither=Image.Dither.NONE) if large else picture).save(path, optimize=True)
    print(f"{name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


def estimate():
    """What operators say of their errors: over the parameter, also outside the box, and for weights that were damaged."""
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    over, against = figure.subplots(1, 2)
    # Marks of two kinds, for grey.
    names = {"laplace-star": ("Laplace, bound", "C0", "."), "biharmonic-star": ("plate, estimate", "C1", "x")}
    for name, (label, colour, mark) in names.items():
        operator = ew.pretrained(name)
        t = np.linspace(0.5, 2.5, 81)
        solution = operator(t=jnp.asarray(t), extrapolate=True)
        over.plot(t, solution.error_estimate().value, color=colour, label=label)
        error = measure(solution, resolution=60).max_error
        over.plot(t, error, mark, color=colour, markersize=5, label="its error, measured")
        pairs = []
        for draw, noise in enumerate(10.0 ** np.linspace(-9, 0, 19)):
            few = jnp.asarray(np.random.default_rng(draw).uniform(1, 2, 4))
            wrong = damaged(operator, noise, draw)(t=few)
            pairs.append([measure(wrong, resolution=60).max_error, np.asarray(wrong.error_estimate().value)])
        against.loglog(*np.concatenate(pairs, axis=1), mark, color=colour, markersize=5, label=label)
    over.axvspan(1, 2, color="0.93", zorder=0)
    over.annotate("trained on", (1.5, 0.94), xycoords=("data", "axes fraction"), ha="center", va="top", color="0.4")
    over.set(yscale="log", xlabel="t", ylabel="largest error of the field")
    limits = np.array([1e-9, 1e2])
    for factor, style in ((1, "-"), (10, ":")):
        against.plot(limits, factor * limits, style, color="0.5", linewidth=0.9, zorder=0)
    against.annotate("estimate = error", (3e-7, 4e-8), color="0.4", fontsize=9)
    against.annotate("10 times the error", (6e-8, 1e-4), color="0.4", fontsize=9)
    against.set(xlabel="largest error measured, weights damaged", ylabel="what the operator says", xlim=limits)
    for ax in (over, against):
        ax.legend(frameon=False, fontsize=9)
        ax.grid(linewidth=0.4, alpha=0.6)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    figure.savefig(folder / "estimate.png", pil_kwargs={"optimize": True})


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
    image = ax.pcolormesh(2 * gaps, np.degrees(angles), values, cmap="inferno", shading="gouraud", vmin=0)
    figure.colorbar(image, ax=ax, label="|u_inf| of the echo", pad=0.02)
    ax.set(xlabel="gap between the flat faces, in wavelengths", ylabel="wave from the axis, degrees")
    ax.set(yticks=[0, 30, 60, 90], title=f"{len(t):,} scattering problems, one operator")
    figure.savefig(folder / "echoes.png", pil_kwargs={"optimize": True})


if __name__ == "__main__":
    here = {"estimate.png": estimate, "echoes.png": echo}
    for name in sys.argv[1:] or (*EXAMPLES, *here):
        here.get(name, lambda name=name: draw(name))()
