"""A kite, an ellipse and a star in a plane wave: three sound-soft bodies, one solve.

`python examples/three_bodies.py scattering.png` draws the total field.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

k = 11.0
bodies = ew.Union(
    ew.Translate(ew.Kite(), (3.1, -0.1)),
    ew.Translate(ew.Rotate(ew.Ellipse(1.1, 0.45), 0.6), (-0.7, 1.5)),
    ew.Translate(ew.Scale(ew.StarCurve(lambda s: 1 + 0.25 * jnp.cos(5 * s)), 0.75), (-0.4, -1.4)),
)
layers = ew.CombinedField(ew.Helmholtz(dim=2, wavenumber=k))
solution = ew.solve(ew.Problem(bodies, None, layers, ew.PlaneWave(0.0), "exterior"))
forward = solution.far_field(jnp.array([1.0, 0.0]))
theorem = -jnp.sqrt(8 * jnp.pi / k) * (jnp.exp(0.25j * jnp.pi) * forward).real
section = solution.cross_section()
print(f"{solution}; cross-section {section:.9f}, optical theorem missed by {abs(section - theorem):.1e}")
assert abs(section - theorem) < 1e-8

if len(sys.argv) > 1:
    samples = plot.sample_field(solution, 300, box=[(-3.0, -3.0), (5.6, 3.0)])
    figure = plot.field_figure(solution, samples=samples, estimate=False)
    figure.set_size_inches(10.4, 3.3)
    for ax in figure.axes[:2]:
        for line in ax.lines:
            ax.fill(*line.get_data(), color="0.12", zorder=3)
        ax.set(title="", xlabel="", ylabel="", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    figure.savefig(sys.argv[1], dpi=88)
