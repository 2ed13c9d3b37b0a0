"""Figures: fields up to the boundary, beside the truth and the error."""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.solution import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

# Errors below this are drawn like this: rounding often gives exactly 0, which has no logarithm.
FLOOR = 1e-16
# How far around the curve a picture goes, in sizes of the curve: room for the line, or for the field outside.
MARGIN = {"interior": 0.04, "exterior": 0.5, "both": 0.5}


class Samples(NamedTuple):
    """One member's field where a picture needs it: on a grid inside its domain, and on the curve itself."""

    title: str
    curve: np.ndarray
    """(n, 2), closed by its first point."""
    box: np.ndarray
    """(2, 2): lower left and upper right corner of what is shown."""
    points: np.ndarray
    """(m, 2)."""
    value: np.ndarray
    truth: np.ndarray | None

    @property
    def error(self) -> np.ndarray | None:
        return None if self.truth is None else np.abs(self.value - self.truth)


def sample_field(solution: Solution, resolution: int = 200, curve_points: int = 800) -> list[Samples]:
    """Every member's field on a grid of `resolution` points along the longer side, and on the curve.

    Members share one box, so that they can be compared. A solution of one member gives one sample.
    """
    s = jnp.linspace(0, 2 * jnp.pi, curve_points, endpoint=False)
    family = solution.problem.family
    members = list(solution) if solution.batched else [solution]
    curves = [np.asarray(jax.vmap(lambda s, m=m: family.point(s, **m.parameters))(s)) for m in members]
    box = _box(np.concatenate(curves), MARGIN[solution.problem.side])
    grid = _grid(box, resolution)
    values = np.asarray(solution(grid)).reshape(len(members), -1)
    return [_one(*parts, box, grid) for parts in zip(members, curves, values, strict=True)]


def field_figure(solution: Solution, *, resolution: int = 200, samples: list[Samples] | None = None) -> "Figure":
    """One row a member: truth, solution and the error on a logarithmic scale, up to the boundary.

    Without an `exact` field in the problem a row is the solution alone. `samples` are those of `sample_field`, where
    they are at hand already. Save it with `figure.savefig("field.png")`; no window is opened.
    """
    matplotlib = _matplotlib()
    samples = sample_field(solution, resolution) if samples is None else samples
    width, height = samples[0].box[1] - samples[0].box[0]
    columns = 1 if samples[0].truth is None else 3
    size = (4.2 * columns, max(1.6, 3.3 * height / width + 0.45) * len(samples))
    figure = matplotlib.figure.Figure(figsize=size, dpi=100, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06, wspace=0.02, hspace=0.04)
    axes = figure.subplots(len(samples), columns, squeeze=False, sharex=True, sharey=True)
    # One scale for the errors of all members, so that they can be compared: whole decades, four below the worst.
    worst = max((np.max(s.error) for s in samples if s.error is not None), default=1.0)
    top = 10.0 ** np.ceil(np.log10(max(worst, 10 * FLOOR)))
    errors = matplotlib.colors.LogNorm(max(FLOOR, 1e-4 * top), top)
    for row, sample in zip(axes, samples, strict=True):
        _draw_row(figure, row, sample, solution.problem.side, errors)
    for ax in axes[-1]:
        ax.set_xlabel("x")
    for ax in axes[:, 0]:
        ax.set_ylabel("y")
    return figure


def _draw_row(figure: "Figure", row: Any, sample: Samples, side: str, errors: Any) -> None:
    matplotlib = _matplotlib()
    shown = sample.value if sample.truth is None else sample.truth
    low, high = shown.min(), shown.max()
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        # A constant field: the rounding in it is for the error to show.
        low, high = low - 0.5, high + 0.5
    values = matplotlib.colors.Normalize(low, high)
    mesh = matplotlib.tri.Triangulation(*sample.points.T)
    region = _region(sample, side)
    if sample.truth is None or sample.error is None:
        image = _panel(row[0], sample, mesh, region, sample.value, values)
        row[0].set_title(sample.title or "solution")
        _bar(figure, image, row[0], "u")
        return
    _panel(row[0], sample, mesh, region, sample.truth, values)
    image = _panel(row[1], sample, mesh, region, sample.value, values)
    where = f", {sample.title}" if sample.title else ""
    row[0].set_title(f"truth{where}")
    row[1].set_title(f"solution{where}")
    _bar(figure, image, row[1], "u")
    error = np.maximum(sample.error, errors.vmin)
    image = _panel(row[2], sample, mesh, region, error, errors)
    row[2].set_title(f"|error|, at most {sample.error.max():.1e}")
    _bar(figure, image, row[2], "|error|")


def _panel(ax: "Axes", sample: Samples, mesh: Any, region: "Path", value: np.ndarray, norm: Any) -> Any:
    matplotlib = _matplotlib()
    if isinstance(norm, matplotlib.colors.LogNorm):
        # Another map than the field's, so that the two cannot be taken for each other; both grow lighter in grey.
        # Four shades a decade: an error is read by its size, and rounding has no finer features.
        shades = matplotlib.colormaps["cividis"].resampled(4 * round(np.log10(norm.vmax / norm.vmin)))
        image = ax.tripcolor(mesh, value, norm=norm, cmap=shades, shading="flat", rasterized=True)
    else:
        bands = np.linspace(norm.vmin, norm.vmax, 65)
        image = ax.tricontourf(mesh, np.clip(value, norm.vmin, norm.vmax), levels=bands, norm=norm, cmap="viridis")
        marks = matplotlib.ticker.MaxNLocator(12).tick_values(norm.vmin, norm.vmax)
        lines = ax.tricontour(mesh, value, levels=marks, colors="white", linewidths=0.5, alpha=0.6)
        lines.set(linestyle="solid", clip_path=(region, ax.transData))
    image.set_clip_path(region, ax.transData)
    ax.plot(*sample.curve.T, color="black", linewidth=1.1)
    ax.set(xlim=sample.box[:, 0], ylim=sample.box[:, 1], aspect="equal")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return image


def _bar(figure: "Figure", image: Any, ax: "Axes", label: str) -> None:
    bar = figure.colorbar(image, ax=ax, fraction=0.05, pad=0.02, aspect=24)
    if not isinstance(image.norm, _matplotlib().colors.LogNorm):
        bar.locator = _matplotlib().ticker.MaxNLocator(6)
        bar.update_ticks()
    bar.set_label(label, rotation="horizontal" if len(label) == 1 else "vertical")
    bar.outline.set_linewidth(0.6)


def _region(sample: Samples, side: str) -> "Path":
    """What is drawn on: triangles reach across the bays of the curve, and into the hole of an exterior field."""
    path = _matplotlib().path.Path
    (left, bottom), (right, top) = sample.box
    frame = np.array([[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]])
    if side == "both":
        return path(frame, closed=True)
    inside = path(sample.curve, closed=True)
    if side == "interior":
        return inside
    # Opposite orientations: the curve is cut out of the frame.
    area = np.sum(sample.curve[:-1, 0] * sample.curve[1:, 1] - sample.curve[1:, 0] * sample.curve[:-1, 1])
    hole = sample.curve[::-1] if area > 0 else sample.curve
    return path.make_compound_path(path(frame, closed=True), path(hole, closed=True))


def _one(member: Solution, curve: np.ndarray, value: np.ndarray, box: np.ndarray, grid: np.ndarray) -> Samples:
    kept = np.isfinite(value)
    points = np.concatenate([grid[kept], curve])
    value = np.concatenate([value[kept], np.asarray(member(curve))])
    exact = member.problem.exact
    truth = None if exact is None else np.asarray(member.problem.exact_at(jnp.asarray(points), member.parameters))
    title = ", ".join(f"{name} = {_short(value)}" for name, value in member.parameters.items())
    return Samples(title, np.concatenate([curve, curve[:1]]), box, points, value, truth)


def _short(value: Any) -> str:
    value = np.asarray(value)
    return f"{value:.4g}" if value.ndim == 0 else np.array2string(value, precision=3, threshold=6)


def _box(points: np.ndarray, margin: float) -> np.ndarray:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.stack([low, high]) + margin * np.max(high - low) * np.array([[-1], [1]])


def _grid(box: np.ndarray, resolution: int) -> np.ndarray:
    """Equally spaced points in both directions, `resolution` of them along the longer side."""
    step = np.max(box[1] - box[0]) / (resolution - 1)
    x, y = (np.linspace(low, high, max(2, 1 + round((high - low) / step))) for low, high in box.T)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def _matplotlib() -> Any:
    """Imported when a figure is asked for: an extra, and slow to load."""
    try:
        import matplotlib
        import matplotlib.colors
        import matplotlib.figure
        import matplotlib.path
        import matplotlib.ticker
        import matplotlib.tri
    except ImportError:
        raise ImportError(
            'Figures need matplotlib, which is not installed. Run `pip install "edgewise[plot]"`.'
        ) from None
    return matplotlib
