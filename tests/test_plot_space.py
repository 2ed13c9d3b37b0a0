"""Figures in space: fields on slices, far fields round the sphere, bodies."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import mie
import numpy as np
import pytest

import edgewise as ew

pytest.importorskip("matplotlib")

from figures import bars_of, check_texts, drawn_texts
from mpl_toolkits.mplot3d.proj3d import proj_transform

from edgewise import plot
from edgewise.base.result import Result
from edgewise.density import PanelDensity
from edgewise.show import bodies, slices, space


@dataclasses.dataclass
class Ball:
    """Read like a `Solution`: a wave scattered by the unit ball, for one wavenumber or several."""

    k: Any
    incidence: tuple = (0.0, 0.0, 1.0)
    __class__ = property(lambda self: ew.Solution)  # pyright: ignore

    @property
    def batched(self):
        return np.ndim(self.k) == 1

    def __iter__(self):
        return (Ball(k, self.incidence) for k in self.k)

    @property
    def parameters(self):
        return {"k": self.k}

    @property
    def problem(self):
        layers = ew.SingleLayer(ew.Helmholtz(dim=3, wavenumber="k"))
        wave = ew.PlaneWave(self.incidence)
        return ew.Problem(ew.Sphere(), ew.Box(k=(0.5, 5.0)), layers, wave, "exterior")

    def _each(self, read):
        return np.stack([read(k) for k in self.k]) if self.batched else read(self.k)

    def total(self, points):
        points = np.asarray(points)
        outside = np.linalg.norm(points, axis=-1) >= 1 - 1e-12
        far = np.where(outside[..., None], points, [0, 0, 2])

        def read(k):
            value = np.exp(1j * k * far @ np.array(self.incidence)) + mie.scattered(k, far, self.incidence)
            return np.where(outside, value, np.nan)

        return self._each(read)

    def far_field(self, directions):
        return self._each(lambda k: mie.far_field(k, directions, self.incidence))


@dataclasses.dataclass
class Charge:
    """Read like a `Solution`: the field of a point charge, real, with the truth beside it."""

    family: Any
    parameters: dict
    side: str
    place: tuple
    inside: Any
    batched = False
    __class__ = property(lambda self: ew.Solution)  # pyright: ignore

    @property
    def problem(self):
        return SimpleNamespace(
            family=self.family,
            parameters=ew.Box(t=(0.05, 0.5)),
            data=SimpleNamespace(is_wave=False),
            representation=ew.SingleLayer(ew.Laplace(3)),
            side=self.side,
            exact=True,
            exact_at=lambda points, _: self._field(points),
        )

    def _field(self, points):
        return 1 / np.linalg.norm(np.asarray(points) - np.array(self.place), axis=-1)

    def __call__(self, points):
        wrong = self.inside(points) == (self.side == "exterior")
        return np.where(wrong, np.nan, (1 + 1e-6) * self._field(points))


def in_half_balls(points):
    height = np.abs(points[..., 2]) - 0.15
    return (height > 0) & (points[..., 0] ** 2 + points[..., 1] ** 2 + height**2 < 1)


OUTSIDE = Charge(ew.HalfBalls(), {"t": 0.15}, "exterior", (0.3, 0.0, 0.6), in_half_balls)


def area(loop):
    return np.sum(loop[:-1, 0] * loop[1:, 1] - loop[1:, 0] * loop[:-1, 1]) / 2


# Family, parameters, fixed coordinate, its value, areas: those of holes in the section are negative.
SECTIONS = {
    "sphere": (ew.Sphere("r"), {"r": 2.0}, 1, 1.0, [3 * np.pi]),
    "half-balls": (ew.HalfBalls(), {"t": 0.1}, 1, 0.0, [np.pi / 2, np.pi / 2]),
    "half-balls, in the gap": (ew.HalfBalls(), {"t": 0.1}, 2, 0.0, []),
    "torus across": (ew.Torus(2.0, 0.5), {}, 1, 0.0, [np.pi / 4, np.pi / 4]),
    "torus along": (ew.Torus(2.0, 0.5), {}, 2, 0.0, [-2.25 * np.pi, 6.25 * np.pi]),
    "cuboid": (ew.Cuboid(1.0, 2.0, 3.0), {}, 0, 0.2, [6.0]),
    "shell": (ew.Union(ew.Sphere(2.0), ew.Sphere(1.0)), {}, 0, 0.0, [-np.pi, 4 * np.pi]),
}


@pytest.mark.parametrize("name", list(SECTIONS))
def test_sections_close(name):
    family, parameters, axis, offset, areas = SECTIONS[name]
    loops = slices.sections(family, parameters, axis, offset)
    assert np.allclose(sorted(area(loop) for loop in loops), areas, rtol=1e-3)
    for loop in loops:
        steps = np.linalg.norm(np.diff(loop, axis=0), axis=1)
        assert np.array_equal(loop[0], loop[-1]) and steps.max() < 0.1 * np.max(np.ptp(loop, axis=0))


def test_waves_on_a_slice():
    figure = space.slice_figure(Ball(np.array([1.0, 2.0]), (1.0, 0.0, 0.0)), resolution=30)
    panels, bars = figure.axes, bars_of(figure)
    assert [bar.get_ylabel() for bar in bars] == ["Re u", "|u|"] * 2
    assert [ax.get_xlabel() for ax in panels] == ["", "", "x", "x"]
    assert [ax.get_ylabel() for ax in panels] == ["z", "", "z", ""]
    assert (
        panels[2].get_title() == "total field"
        and panels[2].get_title("left") == "direction\xa0=\xa0(1,\xa00,\xa00), k\xa0=\xa02"
        and panels[0].get_xlim() == (-4, 4)
    )
    for ax in panels:
        (body,) = ax.patches
        assert body.contains_point(ax.transData.transform((0.9, 0.0)))
        assert not body.contains_point(ax.transData.transform((1.1, 0.0)))
    check_texts(figure)


def test_the_field_is_read_outside_alone():
    (sample,) = slices.sample_slice(Ball(2.0), box=((-2, -2), (2, 2)), resolution=40)
    assert np.all(np.isfinite(sample.value)) and np.linalg.norm(sample.points, axis=1).min() > 1
    # Sound-soft: along the ball the total field is small.
    near = np.linalg.norm(sample.points, axis=1) < 1.003
    assert near.sum() > 100 and np.abs(sample.value[near]).max() < 0.02


@pytest.mark.parametrize("plane, labels", [("x", ("y", "z")), ("z", ("x", "y"))])
def test_other_planes(plane, labels):
    figure = space.slice_figure(Ball(1.0), plane=plane, offset=2.0, box=((-1, -1), (2, 1)), resolution=12)
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == labels
    assert not figure.axes[0].patches


def test_other_fields_stand_beside_the_truth():
    figure = space.slice_figure(OUTSIDE, box=None, resolution=30)
    titles = [ax.get_title() for ax in figure.axes[:3]]
    assert (
        titles[0] == "truth"
        and figure.axes[0].get_title("left") == "t\xa0=\xa00.15"
        and titles[2].startswith("|error|, here up to")
    )
    assert all(len(ax.patches) == 1 for ax in figure.axes[:3])
    inside = Charge(ew.HalfBalls(), {"t": 0.15}, "interior", (0.0, 0.0, 3.0), in_half_balls)
    assert not any(ax.patches for ax in space.slice_figure(inside, box=None, resolution=30).axes)


def test_slices_that_are_refused():
    with pytest.raises(ValueError, match=r"`resolution` must be a whole number from 2 on, got 2\.5"):
        space.slice_figure(Ball(1.0), resolution=2.5)  # pyright: ignore
    with pytest.raises(ValueError, match="`truth` has 1 members, but the solution 2"):
        space.slice_figure(Ball(np.array([1.0, 2.0])), truth=Ball(1.0))  # pyright: ignore
    with pytest.raises(ValueError, match='`plane` must be "x", "y" or "z"'):
        space.slice_figure(Ball(1.0), plane="w")
    with pytest.raises(ValueError, match="No body meets y = 3"):
        space.slice_figure(Ball(1.0), box=None, offset=3.0)
    with pytest.raises(ValueError, match="There is no field in the box"):
        space.slice_figure(Ball(1.0), box=((-0.1, -0.1), (0.1, 0.1)), resolution=5)


def test_far_field_round_the_sphere():
    figure = space.far_field_sphere_figure(Ball(np.array([1.0, 3.0])), count=24)
    balls = [ax for ax in figure.axes if ax.name == "3d"]
    cuts = [ax for ax in figure.axes if ax.name == "polar"]
    assert len(balls) == len(cuts) == 2 and balls[1].get_title("left").endswith(", k\xa0=\xa03")
    angle, level = cuts[1].lines[0].get_data()
    forward = 20 * np.log10(abs(mie.far_field(3.0, (0, 0, 1), (0, 0, 1))))
    assert abs(level[0] - forward) < 1e-9 and abs(angle[-1] - 2 * np.pi) < 1e-12
    low, high = cuts[1].get_ylim()
    assert high - low == 40 and high - 5 <= forward <= high
    check_texts(figure)


@pytest.mark.parametrize("way", [(0.0, 0.0, -1.0), (0.0, 0.6, 0.8), (-1.0, 0.0, 0.0)])
def test_arrows_stand_free_of_the_sphere(way):
    figure = space.far_field_sphere_figure(Ball(1.0, way), count=12)
    (arrow,) = figure.axes[0].texts[-1:]
    assert arrow.arrow_patch is not None
    rim = proj_transform(*figure.axes[0].lines[0].get_data_3d(), figure.axes[0].get_proj())[:2]
    assert np.linalg.norm(arrow.xy) > 1.05 * np.linalg.norm(rim, axis=0).max()


def test_bodies():
    figure = space.body_figure(ew.HalfBalls(), {"t": 0.1})
    assert {"x", "y", "z"} <= {*check_texts(figure)}
    (ax,) = figure.axes
    (faces,) = ax.collections
    assert ax.get_title() == "t\xa0=\xa00.1" and (ax.get_xlabel(), ax.get_zlabel()) == ("x", "z")
    # Those that face away are left out.
    assert 0.3 < len(faces.get_facecolor()) / (20 * 40**2) < 0.7
    assert space.body_figure(ew.Torus(1.0, 0.3)).axes[0].get_title() == ""


def test_several_bodies_stand_on_one_scale():
    figure = bodies.bodies_figure(ew.HalfBalls(), [{"t": 0.1, "d": np.eye(3)[0]}, {"t": 0.4, "d": np.eye(3)[1]}])
    assert sum("d\xa0=\xa0(" in text for text in check_texts(figure)) == 2
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()


def test_sections_have_no_step_of_rounding():
    """Where pieces meet, a point comes once: the end of the line would show as a speck beside it."""
    for loop in slices.sections(ew.HalfBalls(), {"t": 0.265}, 1, 0.0):
        steps = np.diff(loop, axis=0)
        assert np.linalg.norm(steps, axis=1).min() > 1e-9


def test_density_on_a_surface():
    """3 cos θ at the nodes of a ball, as on a conductor in a field along z, is 3 cos θ between them."""
    layer, rule = ew.SingleLayer(ew.Laplace(dim=3)), ew.Duffy(6)
    problem = ew.Problem(ew.Sphere("r"), ew.Box(r=(0.5, 2.0)), layer, lambda x: x[2], "exterior")
    boundary = rule.place(problem.family, {"r": jnp.array(1.0)}, jnp.dtype(float))
    density = PanelDensity(3 * boundary.x[:, 2], rule.num_nodes, rule.panels)
    result = Result(jnp.zeros((), int), jnp.zeros((), int))
    parts: Any = (density, boundary, None, rule, result, {}, False)
    solution = ew.Solution(problem, {"r": jnp.array(1.0)}, *parts)
    squares, normals = bodies._squares(problem.family, solution.parameters, 6)
    values = bodies._on_squares(solution, 6)
    assert values.shape == (len(squares),) and np.allclose(values, 3 * normals[:, 2], atol=0.02)
    figure = plot.density_figure(solution)
    (height,) = [box for text, box in drawn_texts(figure) if text == "z"]
    assert height.x1 + 8 < figure.axes[1].get_window_extent().x0
    assert "density" in check_texts(figure) and figure.axes[0].get_title("left") == "r\xa0=\xa01"
    for page in (problem._repr_html_(), solution._repr_html_()):
        assert page.count("<svg") == 1
    assert len(repr(solution).splitlines()) == 1
