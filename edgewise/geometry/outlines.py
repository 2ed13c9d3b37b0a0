"""The shapes of members as points, for pictures: closed curves of the plane, grids on the patches of surfaces."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.named import bind
from edgewise.geometry.family import AbstractFamily, AbstractPlaneFamily
from edgewise.geometry.polyhedra import lattice
from edgewise.geometry.surface import AbstractSurface


def outlines(family: AbstractFamily, parameters: Mapping[str, Any], count: int) -> list[np.ndarray]:
    """The closed curves (n, 2) of a member, corners among their points, with the bounded domain on their left."""
    assert isinstance(family, AbstractPlaneFamily), "surfaces have grids on their patches"
    values = {name: jnp.asarray(value) for name, value in parameters.items()}
    found = []
    for points, turn in zip(*_curves(family, values, count), strict=True):
        points = np.concatenate([points, points[:1]])
        found.append(points[::-1] if turn < 0 else points)
    return found


def patch_grids(family: AbstractSurface, parameters: Mapping[str, Any], cells: int) -> np.ndarray:
    """(patches, cells + 1, cells + 1, 3): points of every patch, its sides included."""
    values = {name: jnp.asarray(value) for name, value in parameters.items()}
    return np.asarray(_grids(family, values, cells), float).reshape(family.patches, cells + 1, cells + 1, 3)


@eqx.filter_jit
def _curves(family: AbstractPlaneFamily, values: dict[str, Any], count: int) -> tuple[list[Any], Any]:
    found = []
    for curve in family.curves:
        s = np.union1d(np.linspace(0, 2 * np.pi, count, endpoint=False), curve.corners)
        found.append(jax.vmap(lambda s, c=curve: c.point(s, **values))(jnp.asarray(s)))
    return found, family.directions(values) * jnp.stack([curve.orientation(values) for curve in family.curves])


@eqx.filter_jit
def _grids(family: AbstractSurface, values: dict[str, Any], cells: int) -> Any:
    bound = bind(family, values)
    return jax.vmap(lambda s: bound.atlas(s, values), out_axes=1)(jnp.asarray(lattice(cells)))
