"""Families of closed surfaces: smooth ones, and a user's own patches."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import UserFunction, is_whole, known, listed, number, positive
from edgewise.geometry.charts import grade, unit_vectors
from edgewise.geometry.surface import AbstractSurface
from edgewise.special.harmonics import real_harmonics

SIDES = ("u0", "u1", "v0", "v1")


class Sphere(AbstractSurface):
    """Spheres about the origin: 6 patches, the faces of a cube blown up.

    >>> Sphere(2.0).point((0.5, 0.5)).tolist()
    [2.0, 0.0, 0.0]
    """

    radius: Any

    def __init__(self, radius: Any = 1.0):
        self.radius = positive("`radius`", radius, "Sphere(2.0)")

    @property
    def bodies(self) -> tuple[int, ...]:
        return (6,)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.radius * unit_vectors(s)


class Ellipsoid(AbstractSurface):
    """Ellipsoids x = (a d₁, b d₂, c d₃), d on the unit sphere. Semi-axes are numbers, or names of parameters.

    >>> Ellipsoid(2.0, 1.0, "c").point((4.5, 0.5), c=3.0).tolist()
    [0.0, 0.0, 3.0]
    """

    a: Any
    b: Any
    c: Any

    def __init__(self, a: Any = "a", b: Any = "b", c: Any = "c"):
        axes = {"a": a, "b": b, "c": c}
        self.a, self.b, self.c = (positive(f"Semi-axis `{n}`", v, "Ellipsoid(3.0, 2.0, 1.0)") for n, v in axes.items())

    @property
    def bodies(self) -> tuple[int, ...]:
        return (6,)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return unit_vectors(s) * jnp.stack([jnp.asarray(axis) for axis in (self.a, self.b, self.c)])


class Torus(AbstractSurface):
    """Tori about the third axis: a tube of radius `minor` round the circle of radius `major`.

    8 patches: a quarter of the way round, half the tube.

    >>> Torus(2.0, 0.5).point((0.0, 0.0)).tolist()
    [2.5, 0.0, 0.0]
    """

    major: Any
    minor: Any

    def __init__(self, major: Any = 1.0, minor: Any = 0.5):
        self.major = positive("`major`", major, "Torus(1.0, 0.5)")
        self.minor = positive("`minor`", minor, "Torus(1.0, 0.5)")
        if known(self.minor, 0.0) >= known(self.major, np.inf):
            raise ValueError(
                "The tube of a `Torus` must be thinner than its circle, or it meets itself: expected minor < major, "
                f"got major = {self.major}, minor = {self.minor}. Write `Torus(1.0, 0.5)`."
            )

    @property
    def bodies(self) -> tuple[int, ...]:
        return (8,)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        around = (np.repeat(np.arange(4), 2).astype(s.dtype) + s[0]) * (np.pi / 2)
        angle = (np.tile(np.arange(2), 4).astype(s.dtype) + s[1]) * np.pi
        reach = self.major + self.minor * jnp.cos(angle)
        return jnp.stack([reach * jnp.cos(around), reach * jnp.sin(around), self.minor * jnp.sin(angle)], axis=1)


class StarSurface(AbstractSurface):
    """Surfaces given by their distance from the origin: x = radius(d, ...) · d for unit vectors d.

    >>> pear = StarSurface(lambda d, t: 1 + t * d[2] ** 3)
    >>> pear.point((4.5, 0.5), t=0.2).tolist()
    [0.0, 0.0, 1.2]
    """

    radius: UserFunction

    def __init__(self, radius: Callable):
        self.radius = UserFunction(radius, "The radius of a `StarSurface`", "d")

    @property
    def bodies(self) -> tuple[int, ...]:
        return (6,)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        def reach(d):
            cure = "`StarSurface(lambda d, t: ...)`, for one unit vector `d` of one member"
            return self.radius.array(d, parameters, "one number", (), cure) * d

        return jax.vmap(reach)(unit_vectors(s))


class HarmonicSurface(AbstractSurface):
    """Star-shaped surfaces whose spherical harmonic coefficients are the parameters: x = d Σ c_lm Y_lm(d).

    `coefficients` has the length (degree + 1)², in the order of `edgewise.special.real_harmonics`: l = 0; l = 1 with
    m = -1, 0, 1; and so on. The unit sphere has c_00 = sqrt(4π) and no others.

    >>> ball = [(4 * np.pi) ** 0.5, 0, 0, 0]
    >>> HarmonicSurface(degree=1).point((0.5, 0.5), coefficients=jnp.array(ball)).round(6).tolist()
    [1.0, 0.0, 0.0]
    """

    degree: int = eqx.field(static=True)
    coefficients: Any

    def __init__(self, degree: int, coefficients: Any = "coefficients"):
        if not is_whole(degree):
            raise ValueError(
                f"`degree` must be a whole number of at least 0, got {degree!r}: `HarmonicSurface(degree=3)`."
            )
        self.degree = degree
        self.coefficients = number(coefficients)

    @property
    def bodies(self) -> tuple[int, ...]:
        return (6,)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        coefficients = jnp.asarray(self.coefficients, s.dtype)
        expected = ((self.degree + 1) ** 2,)
        if coefficients.shape != expected:
            raise ValueError(
                f"The coefficients of a `HarmonicSurface` of degree {self.degree} have shape {coefficients.shape}; "
                f"expected {expected}: for each l = 0, ..., {self.degree} those of m = -l, ..., l."
            )
        d = unit_vectors(s)
        return (real_harmonics(self.degree, d) @ coefficients)[:, None] * d


class Patch(eqx.Module):
    """One patch of a `Surface`: `function(s, ...)` gives three coordinates for s = (u, v) in [0, 1]².

    Arguments:
        edges: Those of the sides "u0", "u1", "v0", "v1" that lie on an edge of the body. The patch is graded toward
            them.

    >>> Patch(lambda s: (s[0], s[1], 0.0), edges=("u1",)).edges
    ('u1',)
    """

    function: UserFunction
    edges: tuple[str, ...] = eqx.field(static=True)

    def __init__(self, function: Callable, edges: Sequence[str] = ()):
        self.function = UserFunction(function, "A patch of a `Surface`", "s")
        self.edges = (edges,) if isinstance(edges, str) else tuple(edges)
        unknown = [edge for edge in self.edges if edge not in SIDES]
        if unknown:
            raise ValueError(
                f"`edges` must be among {', '.join(SIDES)}, the sides u = 0, u = 1, v = 0, v = 1 of a patch, got "
                f"{unknown[0]!r}. "
                'Write `Patch(function, edges=("u1",))`.'
            )

    def __call__(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        graded = [grade(s[i], f"{name}0" in self.edges, f"{name}1" in self.edges) for i, name in enumerate("uv")]
        cure = "`Surface(lambda s, ...: (x, y, z), ...)`"
        return self.function.array(jnp.stack(graded), parameters, "the three coordinates", (3,), cure)


class Surface(AbstractSurface):
    """One closed body from your own patches: functions of s = (u, v) in [0, 1]² and named parameters, or `Patch`es.

    Each is smooth up to its sides; together they close, and ∂x/∂u × ∂x/∂v leaves the body on all of them, or on none.
    Where a body has edges, patches must end there, and be told so: `Patch(function, edges=("u1",))`.

    >>> def ball(s, r):
    ...     sine = r * jnp.sin(jnp.pi * s[0])
    ...     return sine * jnp.cos(2 * jnp.pi * s[1]), sine * jnp.sin(2 * jnp.pi * s[1]), r * jnp.cos(jnp.pi * s[0])
    >>> Surface(ball).point((0.5, 0.0), r=2.0).round(6).tolist()
    [2.0, 0.0, 0.0]
    """

    members: tuple[Patch, ...]

    def __init__(self, *patches: Callable | Patch):
        given = listed(patches)
        if not given:
            raise ValueError(
                "A `Surface` needs at least one patch, got none. Write `Surface(lambda s: (x, y, z), ...)`."
            )
        self.members = tuple(patch if isinstance(patch, Patch) else Patch(patch) for patch in given)

    @property
    def bodies(self) -> tuple[int, ...]:
        return (len(self.members),)

    @property
    def has_edges(self) -> bool:
        return any(patch.edges for patch in self.members)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return jnp.stack([patch(s, parameters) for patch in self.members])
