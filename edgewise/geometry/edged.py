"""Families of closed surfaces with edges, and surfaces of revolution."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import UserFunction, known, number, positive
from edgewise.geometry.charts import CUBE, disc, grade
from edgewise.geometry.surface import AbstractSurface
from edgewise.special.elementary import polynomial

# Coefficients of sin(πτ/2)/τ and of cos(πτ/2) in τ², to rounding for τ <= 1.
_SINE = [(-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(13)]
_COSINE = [(-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(13)]


class Revolution(AbstractSurface):
    """Surfaces of revolution about the third axis: `profile(s, ...)` gives (r, z), s in [0, 1] from pole to pole.

    r is 0 at both ends, which it leaves linearly, and positive between. The profile is smooth but for `corners` in (0,
    1), ascending: edges of the body, toward which patches are graded (`jnp.where(s < corner, ...)` may join two
    formulas). At the poles the body must be smooth, r odd and z even in the distance from the end: a conical tip is not
    resolved.

    Each end is a cap of 5 patches, each segment between two corners a band of 4. Without corners the caps meet at 1/2.

    >>> egg = Revolution(lambda s, h: (jnp.sin(jnp.pi * s), -h * jnp.cos(jnp.pi * s)))
    >>> egg.point((0.5, 0.5), h=2.0)[2].round(6).tolist()
    -2.0
    """

    profile: UserFunction
    corners: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, profile: Callable, corners: Sequence[float] = ()):
        self.profile = UserFunction(profile, "The profile of a `Revolution`", "s")
        self.corners = _ascending(corners)

    @property
    def bodies(self) -> tuple[int, ...]:
        return (10 + 4 * max(0, len(self.corners) - 1),)

    @property
    def has_edges(self) -> bool:
        return bool(self.corners)

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        cap = disc(s, graded=bool(self.corners))
        square = jnp.sum(cap**2, axis=-1)
        # Everything is smooth in τ², but the formulas divide by τ: at the pole they are taken a little beside it, where
        # values are right to τ² and second derivatives to eps/τ.
        least = jnp.finfo(s.dtype).eps ** 0.8
        radius = jnp.sqrt(square + jax.lax.stop_gradient(jnp.maximum(square, least) - square))
        breaks = self.corners or (0.5,)
        # The first cap is a mirror image: seen from outside, all patches turn the same way.
        flat = [cap * jnp.array([1, -1], s.dtype), cap]
        across = [radius, radius]
        along = [breaks[0] * radius, 1 - (1 - breaks[-1]) * radius]
        angle = (np.arange(4).astype(s.dtype) + s[0]) * (np.pi / 2)
        height = grade(s[1], True, True)
        for low, high in itertools.pairwise(self.corners):
            flat.append(jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=1))
            across.append(jnp.ones(4, s.dtype))
            along.append(jnp.full(4, low + (high - low) * height))
        flat, across, along = (jnp.concatenate(part) for part in (flat, across, along))
        reach, z = jax.vmap(lambda s: self._on_profile(s, parameters))(self._within(along)).T
        return jnp.concatenate([flat * (reach / across)[:, None], z[:, None]], axis=1)

    def _within(self, along: Array) -> Array:
        """Keeps coordinates on their side of every corner, against rounding; derivatives are not touched."""
        breaks = self.corners or (0.5,)
        bands = np.repeat(np.array([*itertools.pairwise(self.corners)]).reshape(-1, 2), 4, axis=0)
        ends = np.concatenate([np.tile([0.0, breaks[0]], (5, 1)), np.tile([breaks[-1], 1.0], (5, 1)), bands])
        room = 8 * jnp.finfo(along.dtype).eps
        low, high = jnp.asarray(ends.T, along.dtype)
        return along + jax.lax.stop_gradient(jnp.clip(along, low + room, high - room) - along)

    def _on_profile(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.profile.array(s, parameters, "r and z", (2,), "`Revolution(lambda s, ...: (r, z))`")


class HalfBalls(AbstractSurface):
    """Two bodies: the unit ball cut in halves at z = 0, the upper moved up by `t`, the lower down by `t`.

    10 patches each, 5 of the hemisphere and 5 of the disc, graded toward the rim between them.

    >>> halves = HalfBalls()
    >>> halves.point((0.5, 0.5), t=0.1)[2].tolist(), halves.point((10.5, 0.5), t=0.1)[2].tolist()
    (1.1, -1.1)
    """

    t: Any

    def __init__(self, t: Any = "t"):
        self.t = number(t)
        if not known(self.t, 1.0) > 0:
            raise ValueError(
                f"`t` must be positive, got {self.t}: the halves touch at 0; expected a gap of 2t between them. "
                "Write `HalfBalls(0.1)`, or use `Sphere()` for the whole ball."
            )

    @property
    def bodies(self) -> tuple[int, ...]:
        return (10, 10)

    @property
    def has_edges(self) -> bool:
        return True

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        flat = disc(s, graded=True)
        square = jnp.sum(flat**2, axis=-1)
        # The polar angle is πτ/2; sin(πτ/2)/τ and cos(πτ/2) are smooth in τ².
        dome = jnp.concatenate(
            [flat * polynomial(_SINE, square)[:, None], polynomial(_COSINE, square)[:, None]], axis=1
        )
        # Mirrored: seen from outside, all patches turn the same way.
        floor = jnp.concatenate([flat * jnp.array([1, -1], s.dtype), jnp.zeros((5, 1), s.dtype)], axis=1)
        upper = jnp.concatenate([dome, floor]) + self.t * jnp.array([0, 0, 1], s.dtype)
        # Half a turn about the first axis.
        return jnp.concatenate([upper, upper * jnp.array([1, -1, -1], s.dtype)])

    @property
    def meridians(self) -> int:
        return 4

    def meridian(self, s: Array) -> tuple[Array, Array, Array, Array]:
        patch, place = self.split(s)
        line, x, y = patch // 5, *disc(place, graded=True)[patch % 5]
        radius = jnp.minimum(jnp.hypot(x, y), 1)
        # The upper floor is mirrored, the lower dome turned, the lower floor both.
        mirrored = (line == 1) | (line == 2)
        # Smooth in the square of the radius, as smooth functions on the axis are, and graded to the rim as the patches
        # are.
        return line, 1 - jnp.cbrt(1 - radius**2), radius, jnp.arctan2(jnp.where(mirrored, -y, y), x)


class Cuboid(AbstractSurface):
    """Boxes about the origin with sides of lengths `a`, `b` and `c`: 6 patches, graded toward all edges.

    >>> Cuboid(2.0, 1.0, 1.0).point((0.5, 0.5)).tolist()
    [1.0, 0.0, 0.0]
    """

    a: Any
    b: Any
    c: Any

    def __init__(self, a: Any = 1.0, b: Any = 1.0, c: Any = 1.0):
        sides = {"a": a, "b": b, "c": c}
        self.a, self.b, self.c = (positive(f"Side `{n}`", v, "Cuboid(1.0, 2.0, 3.0)") for n, v in sides.items())

    @property
    def bodies(self) -> tuple[int, ...]:
        return (6,)

    @property
    def has_edges(self) -> bool:
        return True

    def atlas(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        face = jnp.concatenate([jnp.full(1, 0.5, s.dtype), grade(s, True, True) - 0.5])
        return (jnp.asarray(CUBE, s.dtype) @ face) * jnp.stack([jnp.asarray(side) for side in (self.a, self.b, self.c)])


def _ascending(corners: Any) -> tuple[float, ...]:
    try:
        values = tuple(float(s) for s in corners)
    except (TypeError, ValueError):
        raise TypeError(
            f"`corners` must be numbers between 0 and 1, got {corners!r}. Write `Revolution(profile, corners=(0.5,))`."
        ) from None
    if not all(0 < s < 1 for s in values) or any(a >= b for a, b in itertools.pairwise(values)):
        raise ValueError(
            f"`corners` must ascend between 0 and 1, the poles, got {values}. Write "
            "`Revolution(profile, corners=(0.5,))`."
        )
    return values
