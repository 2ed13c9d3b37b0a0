"""Surfaces, fields and points that the tests in space share."""

import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew

LAPLACE = ew.Laplace(dim=3)
# The wavenumber is a parameter: one compiled function serves all.
HELMHOLTZ = ew.Helmholtz(dim=3, wavenumber="k")
WAVENUMBERS = {"k": (0.1, 20.0), "direction": ew.Direction(3, default=(0.0, 0.0, 1.0))}
INCIDENCE = np.array([2.0, -1.0, 2.0]) / 3

# A star of degree 2 that no symmetry helps.
COEFFICIENTS = np.array([3.5, 0.1, 0.2, 0.3, 0.1, 0.0, 0.1, 0.2, 0.3])
# Every smooth shape, and places well inside and well outside it.
SHAPES = {
    "sphere": (ew.Sphere(), [(0.1, -0.2, 0.3), (-0.3, 0.1, 0.2)], [(2.4, 0.4, 0.3), (-0.7, -2.2, 0.6)]),
    "ellipsoid": (ew.Ellipsoid(3.0, 1.5, 1.0), [(0.8, 0.1, 0.0), (-0.5, 0.2, 0.1)], [(5.0, 1.0, 1.0), (0.2, 0.3, 4.0)]),
    "torus": (ew.Torus(1.0, 0.5), [(1.0, 0.05, 0.1), (-0.7, -0.7, 0.0)], [(0.0, 0.1, 1.5), (2.5, 0.3, 0.4)]),
    "star": (
        ew.HarmonicSurface(2, jnp.asarray(COEFFICIENTS)),
        [(0.1, -0.1, 0.2), (-0.2, 0.1, 0.1)],
        [(2.6, 1.2, 0.5), (-0.9, -2.4, 0.9)],
    ),
}


def directions(count, seed=0):
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def near_points(family, side, closest=1e-6, farthest=0.3, count=8, seed=0, **parameters):
    """Points at distances log-uniform between the two from the surface: of every patch some, at its middle and a corner too."""
    rng = np.random.default_rng(seed)
    s = np.concatenate([[[0.5, 0.5], [0.0, 0.0], [1.0, 0.3]], rng.uniform(size=(count - 3, 2))])
    nodes = family.boundary(jnp.asarray(s), jnp.ones(count), parameters)
    distance = 10 ** rng.uniform(np.log10(closest), np.log10(farthest), len(nodes.x))[:, None]
    return np.asarray(nodes.x + (distance if side == "exterior" else -distance) * nodes.normal)


def sources(kernel, places, strengths=(1.0, -0.6)):
    """The field of point sources as a function of one point."""

    def field(x):
        return sum(q * kernel.fundamental(x - jnp.asarray(p)) for p, q in zip(places, strengths, strict=True))

    return field


def worst(found, true):
    """The largest error relative to the largest value; NaN counts as infinite."""
    error = np.abs(np.asarray(found) - np.asarray(true))
    return float(np.where(np.isnan(error), np.inf, error).max() / np.abs(true).max())


def at(field, points):
    return np.asarray(jax.vmap(field)(jnp.asarray(points)))
