"""The figure of a sweep: errors by layers and neurons, a column for every p."""

from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise.show.style import matplotlib_or_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What is drawn of a cell, and what its row is called.
ROWS = {
    "printed": "the paper, printed",
    "gaussian": "its recipe here",
    "position": "its recipe here,\nno Fourier features",
    "edgewise": "edgewise",
}


def sweep_figure(cells: list[dict[str, Any]]) -> "Figure":
    """Heat maps of relative errors, one row each for the paper, its recipe with and without Fourier features, and ours.

    The rows of the paper share a logarithmic scale; ours has its own, many decades below. `cells` have `layers`,
    `neurons`, `p` and the errors by name, as results.json has them.
    """
    matplotlib = matplotlib_or_words()
    layers, neurons, codes = (sorted({cell[name] for cell in cells}) for name in ("layers", "neurons", "p"))
    # A row is at least as high as its name is long.
    width, height = 0.62 * len(neurons) * len(codes) + 2.6, max(0.42 * len(layers), 1.6) * len(ROWS) + 1.2
    figure = matplotlib.figure.Figure(figsize=(width, height), dpi=100, layout="constrained")
    axes = figure.subplots(len(ROWS), len(codes), squeeze=False, sharex=True, sharey=True)
    values = {
        name: np.array([[[_error(cells, p, d, w, name) for w in neurons] for d in layers] for p in codes])
        for name in ROWS
    }
    papers, ours = [name for name in ROWS if name != "edgewise"], ["edgewise"]
    for names, label in ((papers, "relative l2 error: the paper"), (ours, "edgewise")):
        norm = _decades(np.concatenate([values[name] for name in names]), matplotlib)
        rows = [row for row, name in zip(axes, ROWS, strict=True) if name in names]
        for row, name in zip(rows, names, strict=True):
            for ax, grid in zip(row, values[name], strict=True):
                image = ax.imshow(np.ma.masked_invalid(grid), norm=norm, cmap="cividis", aspect="auto")
                _write_numbers(ax, grid, norm, image.cmap)
        figure.colorbar(image, ax=[ax for row in rows for ax in row], label=label, pad=0.02, aspect=9 * len(rows))
    for ax, p in zip(axes[0], codes, strict=True):
        ax.set_title(f"p = {p}", fontsize=10)
    for ax in axes[-1]:
        ax.set_xticks(range(len(neurons)), map(str, neurons))
        ax.set_xlabel("neurons")
    for ax, name in zip(axes[:, 0], ROWS.values(), strict=True):
        ax.set_yticks(range(len(layers)), map(str, layers))
        ax.set_ylabel(f"{name}\n\nlayers")
    return figure


def _error(cells: list[dict[str, Any]], p: int, layers: int, neurons: int, name: str) -> float:
    """As a number; NaN where there is none, or null was stored for it."""
    sizes = {"p": p, "layers": layers, "neurons": neurons}
    found = [cell.get(name) for cell in cells if all(cell[key] == value for key, value in sizes.items())]
    return found[0] if found and found[0] is not None else np.nan


def _decades(values: np.ndarray, matplotlib: Any) -> Any:
    """A logarithmic scale from the least to the largest, one decade at least."""
    known = values[np.isfinite(values) & (values > 0)]
    low, high = (known.min(), known.max()) if known.size else (1e-2, 1.0)
    middle = np.sqrt(low * high)
    return matplotlib.colors.LogNorm(min(low, middle / 10**0.5), max(high, middle * 10**0.5))


def _write_numbers(ax: "Axes", grid: np.ndarray, norm: Any, colours: Any) -> None:
    for (i, j), value in np.ndenumerate(grid):
        if not np.isfinite(value):
            ax.text(j, i, "-", ha="center", va="center", fontsize=8)
            continue
        red, green, blue, _ = colours(norm(value))
        is_dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.45
        ax.text(j, i, _short(value), ha="center", va="center", fontsize=7.5, color="white" if is_dark else "black")


def _short(value: float) -> str:
    if value < 1e-4:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{100 * value:.{2 if value < 0.1 else 1 if value < 0.9995 else 0}f} %"
