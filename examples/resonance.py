"""A drum answers: the field inside a disc over the wavenumber, with peaks where Bessel functions vanish.

`python examples/resonance.py resonance.png` draws the peaks and the field near three of them.
"""

import sys

import jax.numpy as jnp
import numpy as np
from scipy.special import jn_zeros

import edgewise as ew
from edgewise import plot

ew.enable_x64()

problem = ew.Problem(
    family=ew.Ellipse(1.0, 1.0),
    parameters=ew.Box(k=(1.0, 6.0)),
    representation=ew.DoubleLayer(ew.Helmholtz(dim=2, wavenumber="k")),
    data=lambda x: 1 + x[0] + x[0] * x[1],  # reaches the modes 0, 1 and 2
    side="interior",
)
k = jnp.linspace(1.5, 5.9, 221)
drum = ew.solve(problem, k=k, quadrature=ew.Kress(48))
angle = jnp.arange(8) * 0.785 + 0.2
listening = jnp.stack([0.4 * jnp.cos(angle), 0.4 * jnp.sin(angle)], axis=-1)
loudness = jnp.linalg.norm(drum(listening), axis=1)
peaks = [float(k[i]) for i in range(1, len(k) - 1) if loudness[i] > max(loudness[i - 1], loudness[i + 1])]
known = sorted([*jn_zeros(0, 2), jn_zeros(1, 1)[0], jn_zeros(2, 1)[0]])
print(f"peaks at {np.round(peaks, 2)}, zeros of Bessel functions {np.round(known, 4)}")
assert len(peaks) == 4 and np.max(np.abs(np.array(peaks) - known)) < 0.02

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure((8.4, 4.6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.15))
    ax = top.subplots()
    ax.semilogy(k, loudness, color="black", linewidth=1.3)
    for zero in known:
        ax.axvline(zero, color="0.6", linewidth=0.8, linestyle="--", zorder=0)
    ax.set(xlabel="wavenumber k", ylabel="|u| inside", xlim=(1.5, 5.9))
    for part, zero in zip(bottom.subplots(1, 4), known, strict=True):
        (sample,) = plot.sample_field(drum[int(jnp.argmin(jnp.abs(k - zero)))], 80)
        value = sample.value.real / np.abs(sample.value.real).max()
        part.tripcolor(*sample.points.T, value, vmin=-1, vmax=1, cmap="RdBu_r", shading="gouraud", rasterized=True)
        part.plot(*sample.curves[0].T, color="black", linewidth=1.1)
        part.set(aspect="equal", title=f"near k = {zero:.3f}")
        part.set_axis_off()
    figure.savefig(sys.argv[1])
