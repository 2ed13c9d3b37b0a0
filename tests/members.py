"""Families, fields and points that several tests share."""

import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew

LAPLACE = ew.Laplace(dim=2)


def paper_radius(s, t):
    return 1 + 0.2 * (jnp.sin(3 * s) + t * jnp.sin(4 * s) + jnp.sin(6 * s) + jnp.cos(2 * s) + jnp.cos(5 * s))


PAPER = ew.StarCurve(paper_radius)

# Every family: an instance, its box, one member.
FAMILIES = {
    "paper": (PAPER, {"t": (1.0, 2.0)}, {"t": 1.3}),
    "ellipse": (ew.Ellipse(), {"a": (1, 5), "b": (1, 5)}, {"a": 5.0, "b": 1.0}),
    "kite": (ew.Kite("bend"), {"bend": (0, 1)}, {"bend": 0.65}),
    "fourier": (
        ew.FourierCurve(2),
        {"coefficients": (-2 * np.ones((5, 2)), 2 * np.ones((5, 2)))},
        {"coefficients": jnp.array([[0.1, -0.2], [1.0, 0.1], [0.2, 0.8], [0.1, 0.05], [-0.1, 0.1]])},
    ),
    "user": (
        ew.Curve(lambda s, a: (jnp.cos(s) * (1 + a * jnp.cos(s)), 0.7 * jnp.sin(s))),
        {"a": (0.0, 0.5)},
        {"a": 0.3},
    ),
    "moved": (
        ew.Translate(ew.Rotate(ew.Scale(ew.Ellipse(2.0, 1.0), 0.8), "angle"), (0.3, "height")),
        {"angle": (0, 3), "height": (-1, 0)},
        {"angle": 0.7, "height": -0.2},
    ),
    "clockwise": (ew.Curve(lambda s: (jnp.cos(s), -0.6 * jnp.sin(s))), {}, {}),
}


def entire(x):
    """The paper's field: harmonic everywhere."""
    return jnp.exp(x[0]) * jnp.sin(x[1])


def charges(places, amounts):
    """The field of point charges, Σ q G(x - place)."""
    places, amounts = jnp.asarray(places), jnp.asarray(amounts)

    def field(x):
        return -jnp.sum(amounts * jnp.log(jnp.sum((x - places) ** 2, axis=-1))) / (4 * jnp.pi)

    return field


def near_points(family, parameters, side, count, closest=1e-8, farthest=1e-2, seed=0):
    """Points at distances log-uniform between the two from the curve, on one side of it."""
    rng = np.random.default_rng(seed)
    s = jnp.asarray(rng.uniform(0, 2 * np.pi, count))
    nodes = family.boundary(s, jnp.ones(count), parameters)
    distance = jnp.asarray(10 ** rng.uniform(np.log10(closest), np.log10(farthest), count))[:, None]
    return nodes.x + (distance if side == "exterior" else -distance) * nodes.normal


def star_points(radius, count, seed=0):
    """Random points inside a star-shaped curve, up to its boundary."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0, 2 * np.pi, count)
    r = np.sqrt(rng.uniform(size=count)) * np.asarray(jax.vmap(radius)(s))
    return jnp.stack([r * np.cos(s), r * np.sin(s)], axis=-1)


def worst(solution, field, points):
    """Largest error of a solution over points; NaN counts as infinite."""
    error = np.abs(np.asarray(solution(points) - jax.vmap(field)(points)))
    return float(np.where(np.isnan(error), np.inf, error).max())


def worst_gradient(solution, field, points):
    error = np.abs(np.asarray(solution.gradient(points) - jax.vmap(jax.grad(field))(points)))
    return float(np.where(np.isnan(error), np.inf, error).max())
