"""Figures in the plane: what is on them, that no text runs into another, and calls that are refused."""

import dataclasses
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew

pytest.importorskip("matplotlib")

from figures import bars_of, check_texts
from known import ELLIPSES, LAYER, WAVES, Beyond, in_waves, known, of_ellipses

from edgewise import plot
from edgewise.base.values import in_words
from edgewise.geometry.grids import MARGIN
from edgewise.show import animation, lines, mosaic, training
from edgewise.show.samples import MARGIN_OF_WAVES, sample_field
from edgewise.show.style import MemberLines, caption, titled


@pytest.fixture(scope="module")
def waves():
    return in_waves()


@pytest.fixture(scope="module")
def ellipses():
    return of_ellipses()


def test_parameters_stand_once_above_a_row(waves):
    """Vectors are rounded and wrapped, and belong to the row, not to each of its panels."""
    samples = sample_field(waves, 12, curve_points=40)
    figure = plot.field_figure(waves, samples=samples, estimate=False)
    texts = check_texts(figure)
    above = [text for text in texts if "a\xa0=" in text]
    assert len(above) == 3 and all("0.031" in above[0] and "k\xa0=" in text for text in above)
    assert "0.0312345" not in "".join(texts) and texts.count("total field") == 3
    # Beside a truth, three columns.
    truth = plot.field_figure(waves, samples=[s._replace(truth=s.value) for s in samples], estimate=False)
    assert check_texts(truth).count("truth") == 3


def test_a_box_is_what_is_shown(waves, ellipses):
    figure = plot.field_figure(waves[0], resolution=10, box=[(-3, -2), (1, 4)], estimate=False)
    assert all(ax.get_xlim() == (-3, 1) and ax.get_ylim() == (-2, 4) for ax in figure.axes[:2])
    # Of bodies in a wave as much again to either side; of other fields less.
    for solution, room in ((waves[2], MARGIN_OF_WAVES), (ellipses[0], MARGIN["interior"])):
        (sample,) = sample_field(solution, 10, curve_points=40)
        size = np.ptp(sample.curves[0], axis=0)
        assert np.allclose(sample.box[1] - sample.box[0], size + 2 * room * size.max())


@pytest.mark.parametrize("width, height", [(11, 7), (4, 1), (40, 1), (6, 6), (0.2, 10)])
def test_pictures_of_any_shape_have_room_for_their_words(waves, ellipses, width, height):
    """And for bars of a tenth of an inch, whatever is left for the panel."""
    corners = [(-width / 2, 2 - height / 2), (width / 2, 2 + height / 2)]
    for solution in (waves if width == height else waves[1], ellipses[1]):
        samples = sample_field(solution, 12, 40, corners)
        figure = plot.field_figure(solution, samples=samples, estimate=False)
        check_texts(figure)
        # Titles of a row stand on one line, unless a bar that is higher than its panel lifts one.
        for row in np.reshape(figure.axes, (len(samples), -1)):
            assert width > 8 * height or np.ptp([ax.title.get_window_extent().y0 for ax in row]) < 3
        for bar in bars_of(figure):
            across, up = bar.get_window_extent().size
            assert np.isclose(across, 12, atol=0.1) and up > 25


@pytest.mark.parametrize("box", ["wide", 3.0, (-3, 3, -2, 2), [(3, 2), (-3, -2)], [(0, 0), (1, np.nan)]])
def test_boxes_that_are_refused(waves, box):
    with pytest.raises(ValueError, match=r"`box` must be the lower left.*got .*Write `box=\(\("):
        plot.field_figure(waves[0], resolution=10, box=box)


def test_a_box_without_a_field_is_refused(ellipses):
    with pytest.raises(ValueError, match=r"no field in the box from \[5.0, 5.0\].*another `box` \(`--box`\)"):
        plot.field_figure(Beyond(**vars(ellipses[0])), resolution=10, box=[(5, 5), (6, 6)])


def test_errors_of_all_members_are_seen_on_one_scale(ellipses):
    """The best of them one decade above the lowest colour, four decades at least."""
    (sample,) = sample_field(ellipses[3], 10, curve_points=40)
    batch = known(ELLIPSES, ew.Kress(16), lambda b: b.x[..., 0], a=jnp.array([1.0, 2.0]))
    for sizes, ends in (((2e-9, 3e-2), (1e-10, 1e-1)), ((2e-3, 3e-2), (1e-5, 1e-1)), ((0.0, 0.0), (1e-16, 1e-14))):
        samples = [sample._replace(truth=sample.value + size) for size in sizes]
        figure = plot.field_figure(batch, samples=samples, estimate=False)
        assert all(np.allclose(figure.axes[i].collections[0].get_clim(), ends) for i in (2, 5))


def test_figures_of_lines_tell_members_apart(waves):
    far = plot.far_field_figure(waves, count=36)
    assert sum("a\xa0=" in text for text in check_texts(far)) == 3 and len(far.axes[0].lines) == 3
    (alone,) = [text for text in check_texts(plot.far_field_figure(waves[1], count=36)) if "k\xa0=" in text]
    assert "k\xa0=\xa02" in alone
    styles = {line.get_linestyle() for line in far.axes[0].lines}
    greys = [np.dot(line.get_color()[:3], [0.21, 0.72, 0.07]) for line in far.axes[0].lines]
    assert len(styles) == 3 and np.min(np.diff(greys)) > 0.15


def test_titles_have_the_order_of_the_box_and_the_numbers_of_waves(tmp_path):
    """JAX sorts names; a number that a problem fixes is no parameter."""
    box = ew.Box(t=(0.5, 2.0), k=(1.0, 3.0), angle=ew.Angle())
    layers = ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k"))
    moving = ew.Problem(ew.Ellipse("t", 1.0), box, layers, ew.PlaneWave("angle"), "exterior")
    values = {"t": jnp.ones(2), "k": jnp.array([1.0, 2.0]), "angle": jnp.zeros(2)}
    of_moving = known(moving, ew.Kress(32), lambda b: b.x[..., 0] + 0j, **values)
    assert list(of_moving[1].parameters) == ["angle", "k", "t"] and list(titled(of_moving[1])) == ["t", "k", "angle"]
    assert check_texts(plot.density_figure(of_moving[1]))[-1] == "t\xa0=\xa01, k\xa0=\xa02, angle\xa0=\xa00"
    fixed = dataclasses.replace(
        moving,
        parameters=ew.Box(t=(0.5, 2.0)),
        representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber=6.0)),
        data=ew.PlaneWave(np.pi / 2),
    )
    still = known(fixed, ew.Kress(32), lambda b: b.x[..., 0] + 0j, t=jnp.ones(1))[0]
    assert caption(titled(still), 9.0).replace("\xa0", " ") == "k = 6, direction = (0, 1), t = 1"
    source = dataclasses.replace(fixed, data=ew.PointSource((3.0, 0.5)))
    assert list(titled(dataclasses.replace(still, problem=source))) == ["k", "source", "t"]


def test_one_boundary_in_many_waves():
    """Drawn once, with arrows that end before it and go the way of the waves."""
    layers = ew.CombinedField(ew.Helmholtz(dim=2, wavenumber="k"))
    box = ew.Box(k=(1.0, 3.0), angle=ew.Angle())
    problem = ew.Problem(ew.Ellipse(2.0, 1.0), box, layers, ew.PlaneWave("angle"), "exterior")

    def drawn(**values):
        figure = plot.boundary_figure(known(problem, ew.Kress(32), lambda b: b.x[..., 0] + 0j, **values))
        return figure, check_texts(figure), figure.axes[0].lines

    angle = jnp.linspace(0, 3, 10)
    figure, _, (body, *arrows) = drawn(k=jnp.ones(10), angle=angle)
    assert body.get_gid() is None and len(arrows) == 20 and len(bars_of(figure)) == 1
    for way, shaft, head in zip(angle, arrows[::2], arrows[1::2], strict=True):
        tail, tip = shaft.get_xydata()
        assert np.allclose((tip - tail) / np.linalg.norm(tip - tail), [np.cos(way), np.sin(way)])
        assert np.linalg.norm(tip) > 2 and np.array_equal(head.get_xydata()[1], tip)
    _, texts, lines = drawn(k=jnp.linspace(1, 3, 10), angle=jnp.zeros(10))
    assert len(lines) == 1 and any("the same for every k" in text for text in texts)
    heated = dataclasses.replace(ELLIPSES, family=ew.Ellipse(2.0, 1.0), data=lambda x, a: a * x[0])
    figure = plot.boundary_figure(known(heated, ew.Kress(32), lambda b: b.x[..., 0], a=jnp.linspace(1, 2, 3)))
    assert check_texts(figure)[-1] == "the same for every a" and len(figure.axes[0].lines) == 1 and not figure.legends


@pytest.mark.parametrize("b", [0.2, 1.0, 4.0])
def test_a_colour_bar_is_as_high_as_its_panel(b):
    problem = dataclasses.replace(ELLIPSES, family=ew.Ellipse("a", b))
    figure = plot.boundary_figure(known(problem, ew.Kress(16), lambda b: b.x[..., 0], a=jnp.linspace(1.0, 2.0, 12)))
    check_texts(figure)
    (panel,), (bar,) = figure.axes, bars_of(figure)
    assert np.allclose(bar.get_window_extent().intervaly, panel.get_window_extent().intervaly, atol=1)


def test_density_over_the_arclength(waves, ellipses):
    figure = plot.density_figure(waves)
    check_texts(figure)
    assert [ax.get_ylabel() for ax in figure.axes] == ["Re density", "Im density"]
    assert figure.axes[1].get_xlabel() == "arclength"
    for i, line in enumerate(figure.axes[1].lines):
        arc, value = line.get_data()
        values = np.asarray(waves.density.values[i].imag)
        assert np.allclose(arc[-2], np.sum(waves.boundary.weight[i])) and np.isnan(value[-1])
        assert np.array_equal(value[:-2], values) and value[-2] == values[0]
    many = plot.density_figure(ellipses)
    assert check_texts(many).count("a") == 1 and len(many.axes[0].lines) == 12 and len(bars_of(many)) == 1


def test_density_of_several_curves_and_of_corners():
    square = ew.Problem(ew.Polygon([(0, 0), (1, 0), (1, 1), (0, 1)]), None, LAYER, lambda x: x[0], "exterior")
    # As steep as a charge at an outward corner.
    steep = known(square, ew.Graded(64), lambda b: jnp.linalg.norm(b.offset, axis=-1) ** (-1 / 3))
    (ax,) = plot.density_figure(steep).axes
    assert ax.get_ylim()[1] < 0.01 * np.max(steep.density.values) and abs(ax.lines[0].get_xdata()[-1] - 4) < 1e-3
    two = ew.Union(ew.Ellipse(1.0, 1.0), ew.Translate(ew.Ellipse(0.5, 0.5), (3.0, 0.0)))
    both = known(ew.Problem(two, None, LAYER, lambda x: x[0], "exterior"), ew.Kress(32), lambda b: b.x[..., 0])
    arc, value = lines._along(both[0])
    assert np.isnan(value[0]).sum() == 2 and abs(arc[-1] - 3 * np.pi) < 1e-9
    assert abs(arc[np.isnan(value[0])][0] - 2 * np.pi) < 1e-9


def test_boundaries_and_mosaics(waves, ellipses):
    figure = plot.boundary_figure(ellipses)
    check_texts(figure)
    reach = [np.max(line.get_xdata()) for line in figure.axes[0].lines]
    assert np.allclose(reach, np.linspace(1, 2, 12))
    tiles = mosaic.mosaic_figure(waves, columns=2, resolution=10)
    check_texts(tiles)
    panels = tiles.axes[:4]
    assert [len(ax.collections) for ax in panels] == [1, 1, 1, 0] and len(panels[0].patches) == 1
    assert len({panel.collections[0].get_clim() for panel in panels[:3]}) == 1


@pytest.mark.parametrize("last", [3.0, 50.0, 3e4])
def test_marks_of_a_history_do_not_collide(last):
    steps = np.unique(np.geomspace(1, last, 40).astype(int))
    history = [{"step": int(s), "loss": 1e-3 / s, "misfit": 2e-2 / s**0.5, "misfit_max": 3e-2 / s**0.5} for s in steps]
    texts = check_texts(training.training_figure(history))
    assert "step" in texts and "loss" in texts


def test_captions():
    assert caption({}, 3.0) == ""
    lines = caption({"first": np.arange(4) / 7, "second": 0.123456, "third": np.ones(9)}, 3.0).split("\n")
    assert len(lines) == 3 and lines[1].startswith("second\xa0=\xa00.1235") and max(map(len, lines)) <= 34
    assert in_words({"third": np.ones(9)}) == ["third = (1, 1, 1, ..., 1)"]


def test_a_colour_bar_for_many_members(ellipses):
    assert MemberLines(list(ellipses)).bar is not None and MemberLines(list(ellipses)[:8]).bar is None


FIGURES = (
    plot.field_figure,
    sample_field,
    plot.density_figure,
    plot.boundary_figure,
    plot.far_field_figure,
    mosaic.mosaic_figure,
    lambda wrong: animation.wave_film(wrong, "a.gif"),
    lambda wrong: animation.member_film(wrong, "a.gif"),
)


@pytest.mark.parametrize("draw", FIGURES)
def test_figures_are_of_solutions(draw):
    with pytest.raises(
        TypeError, match=r"`solution` must be what `solve` or an operator returns, got Problem. Write `"
    ):
        draw(WAVES)


# A call, and what is said of it before anything is computed.
WRONG = [
    *((lambda b, r=r: plot.field_figure(b, resolution=r), f"`resolution`.*got {r!r}") for r in (0, 1, -3, 2.5, True)),
    *((lambda b, r=r: sample_field(b, r), f"`resolution`.*got {r!r}") for r in ("a", None)),
    *((lambda b, c=c: mosaic.mosaic_figure(b, columns=c), f"`columns`.*got {c}") for c in (0, -1)),
    (lambda b: plot.field_figure(b, truth=b[0]), "`truth` has 1 members, but the solution 3"),
    (lambda b: plot.far_field_figure(b, count=0), "`count` must be a whole number from 3 on, got 0"),
    (lambda b: animation.wave_film(b[0], "a.gif", frames="a"), "`frames`.*got 'a'"),
    *((lambda b, m=m: animation.member_film(b, "a.gif", milliseconds=m), "`milliseconds`") for m in ("a", -5)),
    (lambda b: animation.member_film(b, "a.png"), "another ending than .gif"),
    (lambda b: animation.wave_film(b[0], "."), "`.` is a folder"),
]


@pytest.mark.parametrize("call, words", WRONG)
def test_calls_that_are_refused(waves, call, words):
    with pytest.raises(ValueError, match=words):
        call(waves)


def test_a_truth_that_is_infinite_somewhere(ellipses):
    """Is left out there; one that is infinite everywhere is no truth."""
    for exact, left in ((lambda x: jnp.where(x[0] > 0, x[0], jnp.inf), True), (lambda x: x[0] / 0.0, False)):
        member = dataclasses.replace(ellipses[0], problem=dataclasses.replace(ELLIPSES, exact=exact))
        if not left:
            with pytest.raises(ValueError, match="finite nowhere in the box"):
                sample_field(member, 10, curve_points=40)
            continue
        (sample,) = sample_field(member, 10, curve_points=40)
        assert sample.points[:, 0].min() > 0 and len(sample.value) == len(sample.truth) and np.max(sample.error) == 0


def test_single_letters_stand_upright(ellipses):
    film, _ = animation._field_shots(ellipses, 10, None)
    for figure in (film, plot.boundary_figure(ellipses), mosaic.mosaic_figure(ellipses, resolution=5)):
        labels = [ax.yaxis.label for ax in (*figure.axes, *bars_of(figure)) if ax.get_ylabel()]
        assert labels and all(label.get_rotation() == 0 for label in labels)


def test_the_gallery_shows_what_examples_draw():
    root = Path(__file__).parent.parent
    text = (root / "docs" / "gallery.md").read_text(encoding="utf-8")
    pictures, examples = re.findall(r"\(images/([\w.-]+)\)", text), re.findall(r"\(\.\./examples/(\w+\.py)\)", text)
    drawn = dict(re.findall(r'"([\w.-]+)": "(\w+)",', (root / "tools" / "draw_pictures.py").read_text()))
    assert len(pictures) >= 12 and [drawn[picture] + ".py" for picture in pictures] == examples
    for picture in pictures:
        assert 10_000 < (root / "docs" / "images" / picture).stat().st_size < 1_500_000
    for example in examples:
        assert "sys.argv[1]" in (root / "examples" / example).read_text(encoding="utf-8")
