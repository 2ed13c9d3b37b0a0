"""Figures of several curves, corners and waves, and of training."""

import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew

pytest.importorskip("matplotlib")

from figures import bars_of

from edgewise import plot
from edgewise.show import training
from edgewise.show.figures import region_of
from edgewise.show.samples import sample_field


@pytest.mark.slow
def test_a_hole_with_corners():
    """Corners are among the points of the outline, the hole runs clockwise and is left out."""
    vertices = [(0.2, -0.2), (1.0, -0.2), (0.6, 0.6)]
    family = ew.Union(ew.Ellipse(2.0, 1.5), ew.Polygon(vertices))
    problem = ew.Problem(family, None, ew.SingleLayer(ew.Laplace(dim=2)), lambda x: x[0], "interior")
    solution = ew.solve(problem, quadrature=ew.Graded(96), tol=1e-2)
    (sample,) = sample_field(solution, 12, curve_points=50)
    outer, hole = sample.curves
    area = [np.sum(c[:-1, 0] * c[1:, 1] - c[1:, 0] * c[:-1, 1]) / 2 for c in (outer, hole)]
    assert area[0] > 0 > area[1] and abs(area[1] + 0.32) < 1e-12
    assert all(np.min(np.linalg.norm(hole - vertex, axis=-1)) < 1e-12 for vertex in np.array(vertices))
    region = region_of(sample, "interior")
    assert region.contains_point((-1.0, 0.0)) and not region.contains_point((3.0, 0.0))
    assert len(bars_of(plot.field_figure(solution, samples=[sample]))) == 1


@pytest.mark.slow
def test_waves_have_two_panels_and_a_far_field():
    kernel = ew.Helmholtz(dim=2, wavenumber="k")
    box = ew.Box(k=(1.0, 3.0))
    problem = ew.Problem(ew.Ellipse(1.0, 1.0), box, ew.CombinedField(kernel), ew.PlaneWave(0.0), "exterior")
    solution = ew.solve(problem, k=jnp.array([1.0, 2.0]), quadrature=ew.Kress(64))
    samples = sample_field(solution, 12, curve_points=40)
    # Sound-soft: the total field is zero on the curve, whose points come last.
    assert all(np.iscomplexobj(s.value) and np.abs(s.value[-40:]).max() < 1e-10 for s in samples)
    figure = plot.field_figure(solution, samples=samples)
    assert [bar.get_ylabel() for bar in bars_of(figure)] == ["Re u", "|u|"] * 2
    assert len(plot.far_field_figure(solution, count=36).axes[0].lines) == 2


@pytest.mark.parametrize("count", [1, 2, 60])
def test_a_history_of_few_records_is_seen(count):
    history = [
        {"step": step, "loss": 0.1**step, "misfit": 0.2**step, "misfit_max": 0.3**step} for step in range(1, count + 1)
    ]
    (ax,) = training.training_figure(history).axes
    assert len(ax.lines) == 3 and all(line.get_marker() not in ("None", None, "") for line in ax.lines)
    assert all(line.get_markersize() > 0 for line in ax.lines)
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert ticks and all(tick == round(tick) for tick in ticks)
