"""Films, written as GIF by Pillow: a wave over one period, and a batch with a frame for every member."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgewise.base.files import write
from edgewise.show.figures import draw_panel, region_of
from edgewise.show.lines import boundary_figure, density_figure, far_field_figure
from edgewise.show.samples import Samples, check_count, check_solution, members_of, sample_field
from edgewise.show.slices import sample_slice
from edgewise.show.style import (
    TITLE_PAD,
    brightest,
    caption,
    caption_height,
    colour_bar,
    label_upright,
    matplotlib_or_words,
    settle,
    shown_range,
    titled,
)
from edgewise.solution import Solution

if TYPE_CHECKING:
    from matplotlib.figure import Figure

What = Literal["field", "far-field", "density", "boundary"]
# Shades of the map, of which more would make files larger by half, and greys for text and lines.
_COLOURS, _GREYS = 112, 16


def wave_film(
    solution: Solution,
    path: str | Path,
    *,
    frames: int = 24,
    resolution: int = 160,
    box: Any = None,
    milliseconds: int = 60,
) -> None:
    """Writes a GIF of one period of the total wave, Re u e^{-iωt}, that loops without a seam; in space of the slice y =
    0.

    The last frame is a step before the first. One period of 24 frames is some hundred kilobytes.

    Arguments:
        frames: In one period.
        resolution: Points along the longer side of the grid.
        box: Lower left and upper right corner of what is shown; by default around the bodies.
        milliseconds: A frame.
    """
    _check_film(solution, path, milliseconds, 60)
    check_count("frames", frames, 2, 24)
    if not solution.problem.data.is_wave:
        raise ValueError(
            "`wave_film` shows an incident wave and what becomes of it, and this problem has none. Write "
            "`member_film(solution, path)` for a frame a member."
        )
    if solution.batched and len(solution) > 1:
        raise ValueError(f"A film in time is of one member, got {len(solution)}. Write `wave_film(solution[0], path)`.")
    (member,), (sample,) = members_of(solution), _samples(solution, resolution, box)
    matplotlib = matplotlib_or_words()
    top = brightest(sample.value)
    norm = matplotlib.colors.Normalize(-top, top)
    figure, ax = _stage(member, sample, norm, "RdBu_r", "Re u e$^{-iωt}$")
    mesh, region = matplotlib.tri.Triangulation(*sample.points.T), region_of(sample, solution.problem.side)
    image = draw_panel(ax, sample, mesh, region, np.real(sample.value), norm, wave=True)

    def shots():
        for phase in 2 * np.pi * np.arange(frames) / frames:
            image.set_array(np.real(sample.value * np.exp(-1j * phase)))
            yield

    save_film(figure, shots(), path, milliseconds, colours="RdBu_r")


def member_film(
    solution: Solution,
    path: str | Path,
    *,
    what: What = "field",
    resolution: int = 120,
    box: Any = None,
    milliseconds: int = 120,
) -> None:
    """Writes a GIF with one frame a member, all on one scale; it runs forth and back, so that no frame jumps.

    Arguments:
        what: "field", of total waves the real part, in space on the slice y = 0. Or in the plane "far-field", "density"
        or
            "boundary": the line of one member after the other stands out from the others.
        resolution: Points along the longer side of the grid, for fields.
        box: Lower left and upper right corner of what is shown of fields; by default around the boundaries.
        milliseconds: A frame.
    """
    _check_film(solution, path, milliseconds, 120)
    if not solution.batched or len(solution) < 2:
        raise ValueError(
            "A film has a frame a member, and this solution is of one. Pass a batch, "
            "`solve(problem, t=jnp.linspace(1, 2, 24))`, or for a wave in time `wave_film(solution, path)`."
        )
    drawn: dict[str, Callable[[Solution], Figure]] = {
        "far-field": far_field_figure,
        "density": density_figure,
        "boundary": boundary_figure,
    }
    if what != "field" and what not in drawn:
        raise ValueError(f'`what` must be "field", "far-field", "density" or "boundary", got {what!r}.')
    if what == "field":
        figure, shots = _field_shots(solution, resolution, box)
    elif solution.problem.family.in_space:
        raise ValueError(f'Films in space are of fields, on a slice; got `what="{what}"`. Write `what="field"`.')
    else:
        figure = drawn[what](solution)
        shots = _line_shots(figure, solution)
    signed = what == "field" and solution.problem.data.is_wave
    colours = None if what != "field" else "RdBu_r" if signed else "viridis"
    save_film(figure, shots, path, milliseconds, colours=colours, back=True)


def save_film(
    figure: "Figure",
    shots: Iterable[Any],
    path: str | Path,
    milliseconds: int,
    *,
    colours: str | None = "viridis",
    back: bool = False,
) -> None:
    """Writes what the figure shows after every step of `shots`; the layout is that of the first.

    Arguments:
        colours: The map of the figure's colours: all frames share a palette of these and of greys. None for lines,
            whose edges fade into
            white: a palette of what the first frame has.
        back: Whether the film runs back again.
    """
    matplotlib_or_words()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    palette = None if colours is None else _palette(colours)
    canvas, frames = FigureCanvasAgg(figure), []
    for _ in shots:
        if figure.get_layout_engine() is not None:
            settle(figure)
            figure.set_layout_engine("none")
        canvas.draw()
        picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
        palette = palette or picture.quantize(256, method=Image.Quantize.MAXCOVERAGE)
        frames.append(picture.quantize(palette=palette, dither=Image.Dither.NONE))
    frames += frames[-2:0:-1] if back else []
    options = {"save_all": True, "append_images": frames[1:], "duration": milliseconds, "loop": 0, "optimize": True}
    write(Path(path), lambda file: frames[0].save(file, "GIF", **options))


def _palette(colours: str) -> Any:
    from PIL import Image

    shades = (255 * matplotlib_or_words().colormaps[colours](np.linspace(0, 1, _COLOURS))[:, :3]).round().astype(int)
    greys = np.linspace(0, 255, _GREYS).round().astype(int)[:, None] * np.ones(3, int)
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.concatenate([shades, greys]).ravel().tolist())
    return palette


def _check_film(solution: Any, path: str | Path, milliseconds: Any, usual: int) -> None:
    """Refuses a film that cannot be written, before anything is computed for it."""
    check_solution(solution, 'member_film(operator(t=jnp.linspace(1, 2, 24)), "film.gif")')
    check_count("milliseconds", milliseconds, 1, usual)
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"`{path}` is a folder; expected a file. Write `{path / 'film.gif'}`.")
    if path.suffix.lower() != ".gif":
        raise ValueError(f"`{path}` has another ending than .gif, and films are GIF files. Write `film.gif`.")


def _samples(solution: Solution, resolution: int, box: Any) -> list[Samples]:
    if solution.problem.family.in_space:
        return sample_slice(solution, box=box, resolution=resolution)
    return sample_field(solution, resolution, box=box)


def _stage(member: Solution, sample: Samples, norm: Any, colours: str, label: str) -> tuple["Figure", Any]:
    """A figure of one panel with its colour bar and the parameters above."""
    matplotlib = matplotlib_or_words()
    width, height = sample.box[1] - sample.box[0]
    words = _title(member)
    size = (5.2, np.clip(4.1 * height / width, 0.8, 6.0) + 0.5 + caption_height(words))
    figure = matplotlib.figure.Figure(figsize=size, dpi=80, layout="constrained")
    ax = figure.add_subplot()
    ax.set_title(words, fontsize="medium", pad=TITLE_PAD)
    ax.set(xlim=sample.box[:, 0], ylim=sample.box[:, 1], aspect="equal")
    colour_bar(figure, matplotlib.cm.ScalarMappable(norm, colours), ax, label)
    ax.set_xlabel("x")
    label_upright(ax, "z" if member.problem.family.in_space else "y")
    return figure, ax


def _title(member: Solution) -> str:
    return caption(titled(member), 4.6)


def _field_shots(solution: Solution, resolution: int, box: Any) -> tuple["Figure", Iterable[Any]]:
    matplotlib = matplotlib_or_words()
    members, samples = members_of(solution), _samples(solution, resolution, box)
    wave = solution.problem.data.is_wave
    values = np.concatenate([np.real(sample.value) for sample in samples])
    norm = matplotlib.colors.Normalize(*shown_range(values, wave))
    label = "Re u" if np.iscomplexobj(samples[0].value) else "u"
    figure, ax = _stage(members[0], samples[0], norm, "RdBu_r" if wave else "viridis", label)

    def shots():
        for member, sample in zip(members, samples, strict=True):
            for drawn in (*ax.collections, *ax.lines):
                drawn.remove()
            mesh, region = matplotlib.tri.Triangulation(*sample.points.T), region_of(sample, solution.problem.side)
            draw_panel(ax, sample, mesh, region, np.real(sample.value), norm, wave)
            ax.set_title(_title(member), fontsize="medium", pad=TITLE_PAD)
            yield

    return figure, shots()


def _line_shots(figure: "Figure", solution: Solution) -> Iterable[Any]:
    """One line after the other, the rest pale."""
    lines = [line for ax in figure.axes for line in ax.lines if line.get_gid() is not None]
    colours = {line: line.get_color() for line in lines}
    figure.set_dpi(80)
    title = figure.suptitle("", fontsize="medium")
    for i, member in enumerate(members_of(solution)):
        for line in lines:
            chosen = line.get_gid() == str(i)
            line.set(color=colours[line] if chosen else "0.87", linewidth=2.2 if chosen else 0.8, zorder=2 + chosen)
        words = caption(titled(member), figure.get_figwidth() - 0.4)
        title.set_text("\n".join(filter(None, [words, str(figure.get_label())])))
        yield
