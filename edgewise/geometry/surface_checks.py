"""Whether bodies close, whether they overlap, and which lies in which: for one member with known values."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from edgewise.base.named import bind
from edgewise.geometry.polyhedra import lattice, triangles, windings
from edgewise.geometry.surface import AbstractSurface

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
# Cosine fields with a wavelength of about a body's size: rows hold their directions, wave vectors and phases.
_RANDOM = np.random.default_rng(0)
_FIELDS, _WAVES = _RANDOM.normal(size=(2, 6, 3))
_PHASES = _RANDOM.uniform(0, 2 * np.pi, 6)


class Arrangement(NamedTuple):
    """How bodies lie to each other."""

    holds: Bool[np.ndarray, "bodies bodies"]
    """[i, j]: body j lies inside body i."""
    overlaps: Bool[np.ndarray, "bodies bodies"]
    """[i, j]: bodies i and j cross."""


def closing_gap(family: AbstractSurface, parameters: Mapping[str, Any]) -> Float[np.ndarray, " bodies"]:
    """For every body, how far its patches are from closing: rounding if they do, 0.01 to 1 if one lacks or is turned
    over.

    By Stokes, circulations of a smooth field round the patches of a closed body, all turned the same way, sum to zero,
    however sides are parametrised or split. The largest sum of a few fixed fields, over the sum of absolute values.
    """
    x, tangent = (np.asarray(part, float) for part in _sides(family, dict(parameters)))
    gaps = []
    for start, patches in zip(np.cumsum((0, *family.bodies)), family.bodies, strict=False):
        body, along = x[start : start + patches], tangent[start : start + patches]
        centre = body.mean(axis=(0, 1, 2))
        arm = (body - centre) / max(np.max(np.abs(body - centre)), 1e-300)
        # One integral for each patch, side and field.
        waves = np.cos(3 * arm @ _WAVES.T / np.linalg.norm(_WAVES, axis=1) + _PHASES)
        integrals = np.einsum("q,psqf,psqf->psf", _WEIGHTS / 2, waves, along @ _FIELDS.T)
        gaps.append(np.max(np.abs(integrals.sum(axis=(0, 1))) / np.maximum(np.abs(integrals).sum(axis=(0, 1)), 1e-300)))
    return np.array(gaps)


def arrangement(family: AbstractSurface, parameters: Mapping[str, Any], cells: int = 12) -> Arrangement:
    """Which bodies lie in which, and which cross, by polyhedra with `cells` squares along a side of every patch.

    A body crosses another if some corners of its polyhedron lie inside the other's and some outside: what is thinner
    than a square may go unseen.
    """
    values = dict(parameters)
    bodies = _polyhedra(family, values, cells)
    count = len(bodies)
    holds, overlaps = np.zeros((2, count, count), bool)
    for i, j in np.argwhere(~np.eye(count, dtype=bool)):
        outer, inner = bodies[i].reshape(-1, 3), bodies[j].reshape(-1, 3)
        if np.any(outer.max(axis=0) < inner.min(axis=0)) or np.any(inner.max(axis=0) < outer.min(axis=0)):
            continue
        inside = np.asarray(_inside(bodies[i], inner))
        mostly = inside.mean() > 0.5
        doubtful = inner[inside != mostly]
        if len(doubtful):
            # Coarse polyhedra of curved bodies that nearly touch may cross: finer ones decide about up to 64 such
            # corners.
            picked = doubtful[np.linspace(0, len(doubtful) - 1, 64).astype(int)]
            again = np.asarray(_inside(_polyhedra(family, values, 4 * cells)[i], picked))
            overlaps[i, j] = overlaps[j, i] = overlaps[i, j] or bool(np.any(again != mostly))
        holds[i, j] = mostly
    return Arrangement(holds & ~overlaps, overlaps)


def clearance(
    x: Float[np.ndarray, "n 3"], weight: Float[np.ndarray, " n"], bodies: tuple[int, ...]
) -> Float[np.ndarray, "bodies bodies"]:
    """[i, j]: the smallest distance between nodes of bodies i and j, over the spacing of nodes there; inf for i = j.

    `bodies` says how many patches each body has, as a family does. The spacing is the root of the larger weight of two
    nodes.
    """
    ends = len(x) // sum(bodies) * np.cumsum(bodies)[:-1]
    points, areas = np.split(np.asarray(x, float), ends), np.split(np.asarray(weight, float), ends)
    gaps = np.full((len(bodies), len(bodies)), np.inf)
    for i in range(len(bodies)):
        for j in range(i):
            # A few hundred at a time: all distances of two bodies would be too many.
            for k in range(0, len(points[i]), 256):
                square = np.sum((points[i][k : k + 256, None] - points[j]) ** 2, axis=-1)
                ratio = square / np.maximum(areas[i][k : k + 256, None], areas[j])
                gaps[i, j] = gaps[j, i] = min(gaps[i, j], np.sqrt(ratio.min()))
    return gaps


@eqx.filter_jit
def _sides(family: AbstractSurface, parameters: dict[str, Any]) -> tuple[Array, Array]:
    """Points and tangents along the four sides of every patch, the way that leaves the patch on the left."""
    bound = bind(family, parameters)
    along = jnp.asarray((_NODES + 1) / 2)
    zero, one = jnp.zeros_like(along), jnp.ones_like(along)
    sides = [(along, zero), (one, along), (1 - along, one), (zero, 1 - along)]
    s = jnp.stack([jnp.stack(side, axis=-1) for side in sides])
    ways = jnp.broadcast_to(jnp.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])[:, None], s.shape)

    def slope(s, way):
        return jax.jvp(lambda s: bound.atlas(s, parameters), (s,), (way,))

    x, tangent = jax.vmap(jax.vmap(slope))(s, ways)
    # Patches first: (patches, sides, nodes, 3).
    return jnp.moveaxis(x, 2, 0), jnp.moveaxis(tangent, 2, 0)


def _polyhedra(family: AbstractSurface, values: dict[str, Any], cells: int) -> list[np.ndarray]:
    return np.split(np.asarray(_corners(family, values, cells)), np.cumsum(family.bodies)[:-1])


@eqx.filter_jit
def _corners(family: AbstractSurface, values: dict[str, Any], cells: int) -> Array:
    bound = bind(family, values)
    return jax.vmap(lambda s: bound.atlas(s, values), out_axes=1)(jnp.asarray(lattice(cells)))


@jax.jit
def _inside(body: Array, points: Array) -> Array:
    faces = triangles(body)
    return jnp.abs(jax.lax.map(lambda point: windings(faces, point), points)) > 0.5
