"""Families of closed plane curves, smooth but for the corners that a `Curve` names."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.named import UserFunction, is_whole, number, positive
from edgewise.geometry.family import AbstractCurve


class Curve(AbstractCurve):
    """Any closed curve: `function(s, ...)` gives the two coordinates, with period 2π in `s`.

    Smooth, except at `corners`: coordinates `s`, ascending in [0, 2π). The function must be smooth up to both ends of
    each segment between them (`jnp.where(s < corner, ...)` may join two formulas).

    >>> import jax.numpy as jnp
    >>> egg = Curve(lambda s, a: (jnp.cos(s) * (1 + a * jnp.cos(s)), jnp.sin(s)))
    >>> egg.point(0.0, a=0.3).tolist()
    [1.3, 0.0]
    """

    function: UserFunction
    breaks: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, function: Callable, corners: Sequence[float] = ()):
        self.function = UserFunction(function, "The function of a `Curve`", "s")
        self.breaks = _ascending(corners)

    @property
    def corners(self) -> tuple[float, ...]:
        return self.breaks

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return self.function.array(s, parameters, "the two coordinates", (2,), "`Curve(lambda s, ...: (x, y))`")


class StarCurve(AbstractCurve):
    """Curves given by their distance from the origin: x = radius(s, ...) · (cos s, sin s).

    >>> import jax.numpy as jnp
    >>> star = StarCurve(lambda s, t: 1 + 0.2 * t * jnp.sin(4 * s))
    >>> sorted(star.names)
    ['t']
    """

    radius: UserFunction

    def __init__(self, radius: Callable):
        self.radius = UserFunction(radius, "The radius of a `StarCurve`", "s")

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        cure = "`StarCurve(lambda s, t: ...)`, for one `s` of one member"
        return self.radius.array(s, parameters, "one number", (), cure) * jnp.stack([jnp.cos(s), jnp.sin(s)])


class FourierCurve(AbstractCurve):
    """Curves whose Fourier coefficients are the parameters.

    x(s) = c₀ + Σ_m (c_{2m-1} cos ms + c_{2m} sin ms), m = 1, ..., degree. The rows c of the parameter `coefficients`,
    of shape (2 degree + 1, 2), are points of the plane.

    >>> circle = [[0, 0], [1, 0], [0, 1]]
    >>> FourierCurve(degree=1).point(0.0, coefficients=jnp.array(circle)).tolist()
    [1.0, 0.0]
    """

    degree: int = eqx.field(static=True)
    coefficients: Any

    def __init__(self, degree: int, coefficients: Any = "coefficients"):
        if not is_whole(degree, 1):
            raise ValueError(
                f"`degree` must be a whole number of at least 1, got {degree!r}: `FourierCurve(degree=3)`."
            )
        self.degree = degree
        self.coefficients = number(coefficients)

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        coefficients = jnp.asarray(self.coefficients)
        expected = (2 * self.degree + 1, 2)
        if coefficients.shape != expected:
            raise ValueError(
                f"The coefficients of a `FourierCurve` of degree {self.degree} have shape {coefficients.shape}; "
                f"expected {expected}: the constant, then cos and sin of each mode."
            )
        modes = jnp.arange(1, self.degree + 1) * s
        waves = jnp.stack([jnp.cos(modes), jnp.sin(modes)], axis=1).reshape(-1)
        return coefficients[0] + waves @ coefficients[1:]


class Ellipse(AbstractCurve):
    """Ellipses x = (a cos s, b sin s). Semi-axes are numbers, or names of parameters.

    >>> Ellipse(2.0, "b").point(0.0, b=1.0).tolist()
    [2.0, 0.0]
    """

    a: Any
    b: Any

    def __init__(self, a: Any = "a", b: Any = "b"):
        self.a = positive("Semi-axis `a`", a, "Ellipse(2.0, 1.0)")
        self.b = positive("Semi-axis `b`", b, "Ellipse(2.0, 1.0)")

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return jnp.stack([self.a * jnp.cos(s), self.b * jnp.sin(s)])


class Kite(AbstractCurve):
    """The kite of Colton and Kress: x = (cos s + bend · (cos 2s - 1), 1.5 sin s); concave for bend above 1/4.

    >>> Kite().point(0.0).tolist()
    [1.0, 0.0]
    """

    bend: Any

    def __init__(self, bend: Any = 0.65):
        self.bend = number(bend)

    def locate(self, s: Array, parameters: Mapping[str, Any]) -> Array:
        return jnp.stack([jnp.cos(s) + self.bend * (jnp.cos(2 * s) - 1), 1.5 * jnp.sin(s)])


def _ascending(corners: Any) -> tuple[float, ...]:
    try:
        values = tuple(float(s) for s in corners)
    except (TypeError, ValueError):
        raise TypeError(
            f"`corners` must be numbers in [0, 2π), got {corners!r}. Write `Curve(function, corners=(0.0,))`."
        ) from None
    if not all(0 <= s < 2 * np.pi for s in values) or any(a >= b for a, b in itertools.pairwise(values)):
        mended = tuple(sorted({round(s % (2 * np.pi), 12) for s in values if np.isfinite(s)}))
        raise ValueError(f"`corners` must ascend in [0, 2π), got {values}. Write `Curve(function, corners={mended})`.")
    return values
