"""Films, and the command that draws."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from figures import check_texts
from known import in_waves, of_ellipses
from matplotlib.figure import Figure
from PIL import Image

from edgewise import plot
from edgewise.cli import main
from edgewise.show import animation, mosaic


@pytest.fixture(scope="module")
def waves():
    return in_waves()


@pytest.fixture(scope="module")
def ellipses():
    return of_ellipses()


def frames_of(path):
    film = Image.open(path)
    pictures = []
    for i in range(film.n_frames):
        film.seek(i)
        pictures.append(np.asarray(film.convert("RGB"), float))
    return film, pictures


def test_a_wave_in_time(waves, tmp_path):
    path = tmp_path / "wave.gif"
    animation.wave_film(waves[1], path, frames=8, resolution=24)
    film, pictures = frames_of(path)
    assert film.n_frames == 8 and film.info["loop"] == 0 and path.stat().st_size < 300_000
    signs = np.stack([(picture[..., 0] - picture[..., 2]).ravel() for picture in pictures])
    signs = signs[:, np.ptp(signs, axis=0) > 0]
    turned = [np.corrcoef(signs[0], later)[0, 1] for later in signs]
    # cos ωt, all the way round: the step from the last frame to the first is one like the others.
    assert np.allclose(turned, np.cos(2 * np.pi * np.arange(8) / 8), atol=0.25)


@pytest.mark.parametrize("what", ["field", "density"])
def test_a_film_over_members(ellipses, tmp_path, what):
    path = tmp_path / "film.gif"
    animation.member_film(ellipses, path, what=what, resolution=20)
    film, pictures = frames_of(path)
    assert film.n_frames == 22 and np.array_equal(pictures[1], pictures[21]) and film.info["loop"] == 0


def test_narrow_and_flat_films_and_mosaics(waves, tmp_path):
    for box in ([(3.9, -5), (4.1, 5)], [(-20, 2), (20, 3)]):
        animation.wave_film(waves[1], tmp_path / "film.gif", frames=2, resolution=12, box=box)
        assert max(Image.open(tmp_path / "film.gif").size) < 600
        tiles = mosaic.mosaic_figure(waves, resolution=10, box=box)
        check_texts(tiles)
        # Three members take three columns of the six.
        assert len(tiles.axes) == 4 and max(tiles.get_size_inches()) < 6


def test_films_that_are_refused(waves, ellipses, tmp_path):
    path = tmp_path / "film.gif"
    with pytest.raises(ValueError, match="this problem has none"):
        animation.wave_film(ellipses[0], path)
    with pytest.raises(ValueError, match="of one member, got 3"):
        animation.wave_film(waves, path)
    with pytest.raises(ValueError, match="a frame a member"):
        animation.member_film(waves[0], path)
    with pytest.raises(ValueError, match="got 'u'"):
        animation.member_film(waves, path, what="u")  # pyright: ignore
    assert not path.exists()


PLOTS = {
    "no wave": (["--what", "total"], "for incident waves"),
    "no far field": (["--what", "far-field"], "for waves outside"),
    "two pictures": (["--what", "density", "--history"], "two pictures"),
    "one frame": (["--out", "x.gif"], "a frame a member"),
    "a still wave": (["--what", "wave"], "--out wave.gif"),
    "a box of lines": (["--what", "density", "--box", "(0,0),(1,1)"], "says what is shown of a field"),
    "a box turned round": (["--box", "(1,1),(0,0)"], "got `(1,1),(0,0)`"),
    "half a box": (["--box", "(1,1)"], 'Write `--box "(-3,-2),(3,2)"`'),
    "a box of words": (["--box", "(a,b),(c,d)"], "got `(a,b),(c,d)`"),
    "a film of training": (["--history", "--out", "x.gif"], "history.png"),
}


@pytest.mark.parametrize("name", list(PLOTS))
def test_plots_that_are_refused(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, words = PLOTS[name]
    out = [] if "--out" in options else ["--out", "x.png"]
    assert main(["plot", "laplace-star", *options, *out]) == 1
    said = capsys.readouterr()
    assert words in said.err and "Traceback" not in said.err and not any(tmp_path.iterdir())


def test_plots_of_what_is_asked_for(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for what in ("density", "boundary", "history"):
        members = [] if what == "history" else ["--at", "t=1:2:12"]
        assert main(["plot", "laplace-star", "--what", what, *members, "--out", f"{what}.png"]) == 0
        assert (tmp_path / f"{what}.png").read_bytes().startswith(b"\x89PNG")
    assert main(["plot", "laplace-star", "--what", "boundary", "--at", "t=1:2:5", "--out", "film.gif"]) == 0
    assert frames_of(tmp_path / "film.gif")[0].n_frames == 8


@pytest.mark.parametrize("box", ["(-1,-0.5),(1,0.5)", "[[-1, -.5], [1, 0.5]]", "-1,-0.5,1,0.5"])
def test_the_box_of_a_plot(box, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(plot, "field_figure", lambda solution, **options: given.append(options["box"]) or Figure())
    assert main(["plot", "laplace-star", "--box", box, "--out", str(tmp_path / "window.png")]) == 0
    assert np.array_equal(given, [[[-1, -0.5], [1, 0.5]]])
