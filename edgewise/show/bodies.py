"""Bodies in space, and densities on them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.named import bind
from edgewise.geometry.outlines import patch_grids
from edgewise.show.samples import members_of
from edgewise.show.style import caption, caption_height, caption_row, matplotlib_or_words, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from edgewise.solution import Solution

# Where bodies and spheres are seen from, unless a wave says otherwise: azimuth and height in degrees.
VIEW = (-50.0, 20.0)
# Squares along a side of a patch, for a body and for a density on it.
_CELLS, _CELLS_OF_DENSITY = 40, 24


def body_figure(family: Any, parameters: Mapping[str, Any] | None = None) -> "Figure":
    """The bodies of one member, lit from the upper left."""
    return bodies_figure(family, [parameters or {}])


def bodies_figure(family: Any, members: Sequence[Mapping[str, Any]]) -> "Figure":
    """The bodies of several members side by side, at most four in a row and on one scale; axes if there is only one."""
    matplotlib = matplotlib_or_words()
    columns = min(4, len(members))
    rows = -(-len(members) // columns)
    width = 4.8 if columns == 1 else 3.6
    words = [caption(parameters, width - 0.6) for parameters in members]
    height = width - 0.2 + max(map(caption_height, words))
    figure = matplotlib.figure.Figure(figsize=(columns * width, rows * height), dpi=100, layout="constrained")
    shapes = [_squares(family, parameters, _CELLS) for parameters in members]
    frame = _frame([squares for squares, _ in shapes])
    for i, ((squares, normals), text) in enumerate(zip(shapes, words, strict=True)):
        ax: Any = figure.add_subplot(rows, columns, i + 1, projection="3d", proj_type="ortho")
        _draw(ax, squares, normals, matplotlib.colors.to_rgb("#a9c4e2"), frame, columns == 1)
        ax.set_title(text, y=1.0, fontsize="medium")
    return figure


def surface_density_figure(solution: "Solution") -> "Figure":
    """One row a member, its parameters above: the density on its bodies; of waves the real part and the absolute value.

    The largest hundredth, as there is along edges, has the last colour of the scale.
    """
    matplotlib = matplotlib_or_words()
    members = members_of(solution)
    family: Any = solution.problem.family
    shapes = [_squares(family, member.parameters, _CELLS_OF_DENSITY) for member in members]
    values = [_on_squares(member, _CELLS_OF_DENSITY) for member in members]
    frame = _frame([squares for squares, _ in shapes])
    waves = any(map(np.iscomplexobj, values))
    top = np.quantile(np.abs(np.concatenate(values)), 0.99)
    low, high = np.quantile(np.concatenate([np.real(value) for value in values]), [0.005, 0.995])
    if high - low <= 1e-6 * max(abs(low), abs(high)):
        low, high = low - 0.5, high + 0.5
    panels = (
        [(np.real, "Re density", -top, top, "RdBu_r"), (np.abs, "|density|", 0.0, top, "inferno")]
        if waves
        else [(np.real, "density", low, high, "viridis")]
    )
    words = [caption(titled(member), 4.4 * len(panels) - 0.6) for member in members]
    size = (4.6 * len(panels), sum(4.1 + caption_height(text) for text in words))
    figure = matplotlib.figure.Figure(figsize=size, dpi=100, layout="constrained")
    # Axes in space have no marks on their left, beside which a caption would begin.
    figure.get_layout_engine().set(w_pad=0.12)
    for i, ((squares, normals), value, text) in enumerate(zip(shapes, values, words, strict=True)):
        for j, (part, name, bottom, up, colours) in enumerate(panels):
            ax: Any = figure.add_subplot(
                len(members), len(panels), len(panels) * i + j + 1, projection="3d", proj_type="ortho"
            )
            shades = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(bottom, up), colours)
            _draw(ax, squares, normals, shades.to_rgba(part(value))[:, :3], frame, True, light=0.12)
            if j == 0:
                caption_row(ax, text, lines=0)
            bar: Any = figure.colorbar(shades, ax=ax, fraction=0.04, pad=0.1, aspect=24, label=name)
            bar.outline.set_linewidth(0.6)
    return figure


def eye_at(azimuth: float, height: float) -> np.ndarray:
    """The unit vector to where one looks from, by degrees."""
    theta, phi = np.radians(90 - height), np.radians(azimuth)
    return np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])


def _draw(
    ax: Any, squares: np.ndarray, normals: np.ndarray, colours: Any, frame: np.ndarray, marks: bool, light: float = 0.28
) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    ax.view_init(azim=VIEW[0], elev=VIEW[1])
    facing = normals @ eye_at(*VIEW) > 0
    bright = 1 - light + light * normals @ eye_at(VIEW[0] - 40, 50.0)
    shaded = np.clip(bright[:, None] * np.asarray(colours), 0, 1)[facing]
    # Edges of the faces' own colour close the seams that smoothing leaves between them.
    ax.add_collection3d(
        Poly3DCollection(squares[facing], facecolors=shaded, edgecolors=shaded, linewidths=0.3, rasterized=True)
    )
    for name, (low, high) in zip("xyz", frame, strict=True):
        ax.set(**{f"{name}lim": (low, high), f"{name}label": name})
        axis = getattr(ax, f"{name}axis")
        axis.set_major_locator(matplotlib_or_words().ticker.MaxNLocator(4, steps=[1, 2, 5, 10]))
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
    # The layout does not count the label of z, which stands to the right of its marks.
    ax.zaxis.labelpad = 0
    ax.set_box_aspect((1, 1, 1), zoom=0.9 if marks else 1.25)
    if not marks:
        ax.set_axis_off()


def _frame(bodies: list[np.ndarray]) -> np.ndarray:
    """(3, 2): a cube around all bodies."""
    points = np.concatenate([squares.reshape(-1, 3) for squares in bodies])
    low, high = points.min(axis=0), points.max(axis=0)
    return ((low + high) / 2)[:, None] + 0.55 * np.max(high - low) * np.array([-1, 1])


def _squares(family: Any, parameters: Mapping[str, Any], cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Corners (n, 4, 3) of the squares of all patches, and their unit normals, which leave the body."""
    values = {name: jnp.asarray(value) for name, value in parameters.items()}
    patches = patch_grids(family, values, cells)
    corners = [patches[:, :-1, :-1], patches[:, 1:, :-1], patches[:, 1:, 1:], patches[:, :-1, 1:]]
    across = np.cross(corners[2] - corners[0], corners[3] - corners[1])
    across *= np.asarray(_signs(family, values))[:, None, None, None]
    length = np.linalg.norm(across, axis=-1, keepdims=True)
    normals = across / np.maximum(length, 1e-300)
    return np.stack(corners, axis=-2).reshape(-1, 4, 3), normals.reshape(-1, 3)


def _on_squares(member: "Solution", cells: int) -> np.ndarray:
    """The density in the middle of every square of every patch."""
    family: Any = member.problem.family
    middle = (np.arange(cells) + 0.5) / cells
    u, v = np.meshgrid(middle, middle, indexing="ij")
    s = np.stack(
        [np.arange(family.patches)[:, None, None] + u, np.broadcast_to(v, (family.patches, *v.shape))], axis=-1
    )
    return np.asarray(_read(member.density, jnp.asarray(s.reshape(-1, 2))))


@eqx.filter_jit
def _read(density: Any, s: Any) -> Any:
    return jax.vmap(density)(s)


@eqx.filter_jit
def _signs(family: Any, values: dict[str, Any]) -> Any:
    return bind(family, values).signs(values, jnp.result_type(float))
