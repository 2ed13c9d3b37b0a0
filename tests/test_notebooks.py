"""What notebooks show."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import edgewise as ew

pytest.importorskip("matplotlib")

from known import ELLIPSES, WAVES, in_waves, of_ellipses

from edgewise.show import notebook


@pytest.fixture(scope="module")
def waves():
    return in_waves()


@pytest.fixture(scope="module")
def ellipses():
    return of_ellipses()


def test_notebooks_show_a_picture(waves, ellipses):
    operator = ew.pretrained("laplace-star")
    for shown, pictures in ((WAVES, 1), (waves[0], 2), (ellipses, 5), (operator, 1), (operator(t=1.2), 2)):
        page = shown._repr_html_()
        assert page.count("<svg") == page.count("</svg>") == pictures and "nan" not in page
        assert len(repr(shown).splitlines()) == 1 and len(repr(shown)) < 200
    page = WAVES._repr_html_()
    assert "Helmholtz: Δu + k²u = 0" in page and "exterior" in page and "k in [1, 3]" in page
    assert "a in [-0.1, 0.1], 4 numbers" in page and page.count("<polyline") == 4
    assert "t = 1.2" in repr(operator(t=1.2)) and "12 members(a from 1 to 2)" in repr(ellipses)
    checked = dataclasses.replace(waves, stats={"error": jnp.array([1e-6, 2e-5, 1e-7])})
    assert "at most 2.0e-05" in checked._repr_html_() and "at most" not in waves._repr_html_()


def test_sketches_say_what_they_show(waves, ellipses):
    page = ELLIPSES._repr_html_()
    shown = re.findall(r'<span style="color:(#\w+)">([\d.]+)</span>', page)
    assert [float(value) for _, value in shown] == [1, 1.333, 1.667, 2]
    # Every curve in the colour of its number, and the bar as long as it says: 4 are all the way across.
    widths = {}
    for path, colour in re.findall(r'<polyline points="([^"]+)" stroke="(#\w+)"', page):
        widths[colour] = np.ptp([float(pair.split(",")[0]) for pair in path.split()])
    assert np.allclose(
        [widths[colour] / widths[shown[-1][0]] for colour, _ in shown], [1 / 2, 2 / 3, 5 / 6, 1], atol=2e-2
    )
    (end,), (length,) = re.findall(r"H([\d.]+)m0", page), re.findall(r"<text [^>]*>([\d.]+)</text>", page)
    assert np.isclose((float(end) - 6) / widths[shown[-1][0]], float(length) / 4, atol=1e-2)
    assert "4 members at even steps of a" in WAVES._repr_html_() and "PlaneWave(direction = 0.3)" in WAVES._repr_html_()
    # Members of a batch in even steps too; what they share is not said again.
    assert re.findall(r">a = ([\d.]+); density", ellipses._repr_html_()) == ["1", "1.364", "1.636", "2"]
    assert "-2 to 2, over 9.69 of arclength" in ellipses._repr_html_()
    fixed = dataclasses.replace(WAVES, representation=ew.CombinedField(ew.Helmholtz(dim=2, wavenumber=6.0)))
    assert "k = 6" in dataclasses.replace(waves[0], problem=fixed)._repr_html_()


def test_sketches_are_spread_evenly():
    """Every number takes every step, in orders of their own: of two radii all ellipses would else be alike."""
    steps = notebook._spread({name: spec for name, spec in ew.Box(a=(1, 4), b=([0] * 3, [3] * 3)).specs}, 4)
    assert np.allclose(steps["a"], [1, 2, 3, 4])
    assert np.allclose(np.sort(steps["b"], axis=0), np.arange(4)[:, None] * np.ones(3))
    assert not np.allclose(steps["b"][:, 0], steps["b"][:, 1])
    assert np.allclose(notebook._spread({"t": dict(ew.Box(t=(1, 2)).specs)["t"]}, 1)["t"], 1.5)


@pytest.mark.parametrize("back", [(255, 255, 255), (17, 17, 17)])
def test_sketches_are_seen_on_light_and_on_dark(back):
    """Three to one, as guidelines for the web ask of graphics."""

    def light(colour):
        share = np.array(colour) / 255
        return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    colours = [*notebook._INK, *(notebook._signed(value) for value in (-1, -0.5, 0, 0.5, 1))]
    for colour in colours:
        low, high = sorted([light(back), light([int(colour[i : i + 2], 16) for i in (1, 3, 5)])])
        assert (high + 0.05) / (low + 0.05) > 2.9, colour


def test_notebooks_never_raise(waves):
    seen = []

    @jax.jit
    def read(solution):
        seen.extend([repr(solution), solution._repr_html_(), repr(solution.problem), solution.problem._repr_html_()])
        return solution.boundary.x

    read(waves[0])
    assert "traced" in seen[0] and "Solution" in seen[1] and "<svg" not in seen[1] and "Helmholtz" in seen[3]
    wrong = ew.Problem(ew.Kite(), None, ew.SingleLayer(ew.Laplace(dim=2)), lambda x: x[0] / 0, "interior")
    assert wrong._repr_html_().count("<svg") == 1 and "none" in repr(wrong)
