"""One body of another medium, in a plane wave or in a uniform field.

Let u be the total field outside (incident + scattered) and the field inside. On the boundary u is continuous, and
du/dn outside = ratio * du/dn inside. For the Laplace equation ratio is the permittivity inside over that outside.

Waves (time factor e^{-i omega t}). The plane wave is a sum of cylinder or sphere waves. Order n of the scattered
wave has the factor c_n, with

    c_n = (ratio k_i J_n(ka) J_n'(k_i a) - k J_n'(ka) J_n(k_i a)) / D_n,
    D_n = k H_n'(ka) J_n(k_i a) - ratio k_i H_n(ka) J_n'(k_i a),

and order n of the inside wave has the factor 2i / (pi a D_n) in the plane and i / (k a^2 D_n) in space (with spherical
functions), where J_n(k_i r) may have any scale. The far field u_inf is defined by u_s ~ e^{ikr}/sqrt(r) u_inf in the
plane and u_s ~ e^{ikr}/r u_inf in space.

Uniform field e.x. An ellipse or ellipsoid with volume V and depolarisation factors L_i (sum 1) has a uniform gradient
inside, e_i / (1 + (ratio - 1) L_i). Far away u_s ~ p.x / (omega_d |x|^d), omega_2 = 2 pi, omega_3 = 4 pi. The
polarisability P is the matrix with p = P e:

    P_ii = -(ratio - 1) V / (1 + (ratio - 1) L_i).

P is negative for ratio > 1: the disc has P = -2 V (ratio - 1)/(ratio + 1), thus -2 V as a conductor (ratio ->
infinity) and +2 V as a hole (ratio -> 0). The ball has -3 V and +3/2 V. The published polarisability of a conductor,
alpha (positive, 2 V for the disc, 3 V for the ball), is -P.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import elliprd, gammaln, hankel1, jv, jve

CUBE_CONDUCTOR_POLARISABILITY = 3.644305190268
"""alpha / V of a conducting cube: P = -alpha I, in the units where a conducting ball has alpha = 3 V."""

SMALLEST = 1e-60
NEGLIGIBLE = 1e-20

Vector = Sequence[float] | np.ndarray
Numbers = complex | np.ndarray


def _orders_needed(function, z: float, largest: float) -> int:
    """Return an order beyond which the incident wave does not count, not much more than the body can carry."""
    last = int(max(abs(z), largest) + 12 * max(abs(z), largest) ** (1 / 3) + 60)
    sizes = np.abs(function(np.arange(last + 1), z))
    return int(np.flatnonzero(sizes > SMALLEST)[-1])


def _stop(outside: np.ndarray, inside: np.ndarray) -> int:
    """Return how many orders count on the boundary, given the size of each order there."""
    size = np.maximum(np.abs(outside), np.abs(inside))
    return int(np.flatnonzero(size > NEGLIGIBLE * size.max())[-1]) + 1


def _slope(function, n: np.ndarray, z: complex) -> np.ndarray:
    """Return the derivative of the cylinder functions of integer orders n >= 0, in the scale of the function."""
    before = np.where(n == 0, -function(np.ones_like(n), z), function(np.abs(n - 1), z))
    return (before - function(n + 1, z)) / 2


def _spherical(function, n: int | np.ndarray, z: Numbers) -> np.ndarray:
    """Return the spherical function of integer orders n that belongs to a cylinder function."""
    z = np.where(np.abs(z) < 1e-200, 1e-200, z)
    return np.sqrt(np.pi / 2 / z) * function(n + 0.5, z)


def _spherical_slope(function, n: np.ndarray, z: complex) -> np.ndarray:
    """Return the derivative of the spherical functions of integer orders n >= 0, in the scale of the function."""
    lower = _spherical(function, np.abs(n - 1), z) - (n + 1) / z * _spherical(function, n, z)
    return np.where(n == 0, -_spherical(function, n * 0 + 1, z), lower)


def _flat(nu: Numbers, z: Numbers) -> Numbers:
    """Return Gamma(nu + 1) (2/z)^nu J_nu(z) by its power series, for |z|^2 / 4 <= nu + 1."""
    term = total = 1.0 + 0.0 * z * nu
    for m in range(1, 30):
        term = -term * (z / 2) ** 2 / (m * (nu + m))
        total = total + term
    return total


def _is_flat(nu: Numbers, w: complex) -> bool | np.ndarray:
    """Tell for which orders the wave inside is close to a power of r; J_nu itself could underflow there."""
    return abs(w) ** 2 / 4 <= nu + 1


def _waves_inside(half: float, n: np.ndarray, k: complex, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and radial derivatives at the radius of what _wave_inside returns; half is 0 or 1/2."""
    w, nu = k * radius, n + half
    values, slopes = np.ones(len(n), dtype=complex), np.zeros(len(n), dtype=complex)
    flat = _is_flat(nu, w)
    values[flat] = _flat(nu[flat], w)
    slopes[flat] = n[flat] / radius * values[flat] - k * w / (2 * nu[flat] + 2) * _flat(nu[flat] + 1, w)
    steep = n[~flat]
    values[~flat] = jve(steep, w) if half == 0 else _spherical(jve, steep, w)
    slopes[~flat] = k * (_slope(jve, steep, w) if half == 0 else _spherical_slope(jve, steep, w))
    return values, slopes


def _wave_inside(half: float, n: int, k: complex, radius: float, r: np.ndarray) -> np.ndarray:
    """Return the wave of order n inside at the distances r, in a scale that depends on n, k and the radius only."""
    if _is_flat(n + half, k * radius):
        return (r / radius) ** n * _flat(n + half, k * r)
    values = jve(n, k * r) if half == 0 else _spherical(jve, n, k * r)
    return values * np.exp(abs(np.imag(k)) * (r - radius))


@dataclass(frozen=True)
class CircleInTwoMedia:
    """The plane wave e^{ik d.x} on a circle around the origin; coefficients of orders 0, 1, 2, ..."""

    k: float
    k_inside: complex
    ratio: complex
    radius: float
    angle: float
    outside_coefficients: np.ndarray
    inside_coefficients: np.ndarray

    def _polar(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.asarray(x, dtype=float)
        return np.hypot(x[:, 0], x[:, 1]), np.arctan2(x[:, 1], x[:, 0]) - self.angle

    def incident(self, x: np.ndarray) -> np.ndarray:
        """Return the plane wave at the points x (m, 2)."""
        return np.exp(1j * self.k * (np.asarray(x) @ np.array([np.cos(self.angle), np.sin(self.angle)])))

    def scattered(self, x: np.ndarray) -> np.ndarray:
        """Return the scattered field at the points x (m, 2) outside the circle."""
        r, theta = self._polar(x)
        total = np.zeros(r.shape, dtype=complex)
        for n, c in enumerate(self.outside_coefficients):
            total += (1 if n == 0 else 2) * 1j**n * c * hankel1(n, self.k * r) * np.cos(n * theta)
        return total

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return the total field at the points x (m, 2) inside the circle."""
        r, theta = self._polar(x)
        total = np.zeros(r.shape, dtype=complex)
        for n, c in enumerate(self.inside_coefficients):
            total += (
                (1 if n == 0 else 2) * 1j**n * c * _wave_inside(0, n, self.k_inside, self.radius, r) * np.cos(n * theta)
            )
        return total

    def far_field(self, directions: np.ndarray) -> np.ndarray:
        """Return u_inf in the directions (m, 2)."""
        _, theta = self._polar(directions)
        total = np.zeros(theta.shape, dtype=complex)
        for n, c in enumerate(self.outside_coefficients):
            total += (1 if n == 0 else 2) * c * np.cos(n * theta)
        return np.sqrt(2 / (np.pi * self.k)) * np.exp(-0.25j * np.pi) * total


def circle_in_two_media(
    k: float, k_inside: complex, ratio: complex, radius: float = 1.0, angle: float = 0.0
) -> CircleInTwoMedia:
    """Return the fields of the plane wave with direction (cos angle, sin angle) on a circle around the origin."""
    z = k * radius
    n = np.arange(_orders_needed(jv, z, abs(k_inside) * radius) + 1)
    j, dj, h, dh = jv(n, z), _slope(jv, n, z), hankel1(n, z), _slope(hankel1, n, z)
    b, db = _waves_inside(0, n, k_inside, radius)
    determinant = k * dh * b - ratio * h * db
    outside = (ratio * j * db - k * dj * b) / determinant
    inside = 2j / (np.pi * radius) / determinant
    stop = _stop(outside * h, inside * b)
    return CircleInTwoMedia(k, k_inside, ratio, radius, angle, outside[:stop], inside[:stop])


@dataclass(frozen=True)
class SphereInTwoMedia:
    """The plane wave e^{ik d.x} on a sphere around the origin; coefficients of orders 0, 1, 2, ..."""

    k: float
    k_inside: complex
    ratio: complex
    radius: float
    direction: np.ndarray
    outside_coefficients: np.ndarray
    inside_coefficients: np.ndarray

    def _polar(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.asarray(x, dtype=float)
        r = np.linalg.norm(x, axis=1)
        return r, np.clip(x @ self.direction / np.where(r == 0, 1, r), -1, 1)

    @staticmethod
    def _legendre(orders: int, cosine: np.ndarray):
        """Yield (n, P_n(cosine)) for n = 0, 1, ..., orders - 1."""
        before, now = np.zeros_like(cosine), np.ones_like(cosine)
        for n in range(orders):
            yield n, now
            before, now = now, ((2 * n + 1) * cosine * now - n * before) / (n + 1)

    def incident(self, x: np.ndarray) -> np.ndarray:
        """Return the plane wave at the points x (m, 3)."""
        return np.exp(1j * self.k * (np.asarray(x) @ self.direction))

    def scattered(self, x: np.ndarray) -> np.ndarray:
        """Return the scattered field at the points x (m, 3) outside the sphere."""
        r, cosine = self._polar(x)
        total = np.zeros(r.shape, dtype=complex)
        for n, p in self._legendre(len(self.outside_coefficients), cosine):
            total += (2 * n + 1) * 1j**n * self.outside_coefficients[n] * _spherical(hankel1, n, self.k * r) * p
        return total

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return the total field at the points x (m, 3) inside the sphere."""
        r, cosine = self._polar(x)
        total = np.zeros(r.shape, dtype=complex)
        for n, p in self._legendre(len(self.inside_coefficients), cosine):
            wave = _wave_inside(0.5, n, self.k_inside, self.radius, r)
            total += (2 * n + 1) * 1j**n * self.inside_coefficients[n] * wave * p
        return total

    def far_field(self, directions: np.ndarray) -> np.ndarray:
        """Return u_inf in the directions (m, 3)."""
        _, cosine = self._polar(directions)
        total = np.zeros(cosine.shape, dtype=complex)
        for n, p in self._legendre(len(self.outside_coefficients), cosine):
            total += (2 * n + 1) * self.outside_coefficients[n] * p
        return total / (1j * self.k)


def sphere_in_two_media(
    k: float, k_inside: complex, ratio: complex, radius: float = 1.0, direction: Vector = (0.0, 0.0, 1.0)
) -> SphereInTwoMedia:
    """Return the fields of the plane wave with the given direction on a sphere around the origin."""
    d = np.asarray(direction, dtype=float)
    z = k * radius
    n = np.arange(_orders_needed(lambda n, z: _spherical(jv, n, z), z, abs(k_inside) * radius) + 1)
    j, dj = _spherical(jv, n, z), _spherical_slope(jv, n, z)
    h, dh = _spherical(hankel1, n, z), _spherical_slope(hankel1, n, z)
    b, db = _waves_inside(0.5, n, k_inside, radius)
    determinant = k * dh * b - ratio * h * db
    outside = (ratio * j * db - k * dj * b) / determinant
    inside = 1j / (k * radius**2) / determinant
    stop = _stop((2 * n + 1) * outside * h, (2 * n + 1) * inside * b)
    return SphereInTwoMedia(k, k_inside, ratio, radius, d / np.linalg.norm(d), outside[:stop], inside[:stop])


def _polarisability(volume: float, factors: np.ndarray, ratio: complex) -> np.ndarray:
    """Return the diagonal of P; ratio may be infinite."""
    if np.isinf(ratio):
        return -volume / factors
    return -(ratio - 1) * volume / (1 + (ratio - 1) * factors)


def _inside_gradient(factors: np.ndarray, ratio: complex, direction: Vector) -> np.ndarray:
    """Return the uniform gradient inside; ratio may be infinite."""
    e = np.asarray(direction, dtype=float)
    return e * 0.0 if np.isinf(ratio) else e / (1 + (ratio - 1) * factors)


def ellipse_polarisability(a: float, b: float, ratio: complex) -> np.ndarray:
    """Return P (2, 2) of the ellipse with semi-axes a along x and b along y."""
    return np.diag(_polarisability(np.pi * a * b, np.array([b, a]) / (a + b), ratio))


@dataclass(frozen=True)
class EllipseInUniformField:
    """The uniform field e.x on the ellipse with semi-axes a along x and b along y.

    The map z = ((a + b) zeta + (a - b) / zeta) / 2 takes |zeta| > 1 to the outside. The scattered field is the real
    part of (P_11 e_1 + i P_22 e_2) / (pi (a + b) zeta).
    """

    a: float
    b: float
    ratio: complex
    direction: np.ndarray

    def incident(self, x: np.ndarray) -> np.ndarray:
        """Return e.x at the points x (m, 2)."""
        return np.asarray(x) @ self.direction

    def scattered(self, x: np.ndarray) -> np.ndarray:
        """Return the scattered field at the points x (m, 2) outside the ellipse."""
        x = np.asarray(x, dtype=float)
        z = x[:, 0] + 1j * x[:, 1]
        zeta = z * (1 + np.sqrt(1 - (self.a**2 - self.b**2) / z**2)) / (self.a + self.b)
        p = ellipse_polarisability(self.a, self.b, self.ratio) @ self.direction
        return (p[0] * (1 / zeta).real + p[1] * (1j / zeta).real) / (np.pi * (self.a + self.b))

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return the total field at the points x (m, 2) inside the ellipse."""
        factors = np.array([self.b, self.a]) / (self.a + self.b)
        return np.asarray(x) @ _inside_gradient(factors, self.ratio, self.direction)


def ellipse_in_uniform_field(a: float, b: float, ratio: complex, direction: Vector) -> EllipseInUniformField:
    """Return the fields of e.x, e = direction, on the ellipse with semi-axes a along x and b along y."""
    return EllipseInUniformField(a, b, ratio, np.asarray(direction, dtype=float))


def circle_in_uniform_field(direction: Vector, ratio: complex, radius: float = 1.0) -> EllipseInUniformField:
    """Return the fields of e.x, e = direction, on the circle around the origin."""
    return ellipse_in_uniform_field(radius, radius, ratio, direction)


def depolarisation_factors(semi_axes: Vector, shift: float | np.ndarray = 0.0) -> np.ndarray:
    """Return L_i = (abc/2) * integral of ds / ((s + a_i^2) sqrt(prod (s + a_j^2))) from shift to infinity."""
    squares = np.asarray(semi_axes, dtype=float) ** 2
    s = [square + np.asarray(shift, dtype=float) for square in squares]
    factors = [elliprd(s[1], s[2], s[0]), elliprd(s[2], s[0], s[1]), elliprd(s[0], s[1], s[2])]
    return np.sqrt(np.prod(squares)) / 3 * np.stack(factors, axis=-1)


def ellipsoid_polarisability(semi_axes: Vector, ratio: complex) -> np.ndarray:
    """Return P (3, 3) of the ellipsoid with the semi-axes along x, y and z."""
    volume = 4 * np.pi / 3 * float(np.prod(np.asarray(semi_axes, dtype=float)))
    return np.diag(_polarisability(volume, depolarisation_factors(semi_axes), ratio))


def ellipsoid_inside_gradient(semi_axes: Vector, ratio: complex, direction: Vector) -> np.ndarray:
    """Return the uniform gradient (3,) inside the ellipsoid in the uniform field e.x, e = direction."""
    return _inside_gradient(depolarisation_factors(semi_axes), ratio, direction)


@dataclass(frozen=True)
class EllipsoidInUniformField:
    """The uniform field e.x on the ellipsoid with the semi-axes along x, y and z.

    The scattered field is the sum of P_ii e_i x_i L_i(s) / V. Here s >= 0 is the largest root of
    sum x_i^2 / (a_i^2 + s) = 1, the largest eigenvalue of x x^T - diag(a_i^2).
    """

    semi_axes: np.ndarray
    ratio: complex
    direction: np.ndarray

    def incident(self, x: np.ndarray) -> np.ndarray:
        """Return e.x at the points x (m, 3)."""
        return np.asarray(x) @ self.direction

    def scattered(self, x: np.ndarray) -> np.ndarray:
        """Return the scattered field at the points x (m, 3) outside the ellipsoid."""
        x = np.asarray(x, dtype=float)
        s = np.linalg.eigvalsh(x[:, :, None] * x[:, None, :] - np.diag(self.semi_axes**2))[:, -1]
        volume = 4 * np.pi / 3 * np.prod(self.semi_axes)
        p = ellipsoid_polarisability(self.semi_axes, self.ratio) @ self.direction / volume
        return (x * depolarisation_factors(self.semi_axes, s)) @ p

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Return the total field at the points x (m, 3) inside the ellipsoid."""
        return np.asarray(x) @ ellipsoid_inside_gradient(self.semi_axes, self.ratio, self.direction)


def ellipsoid_in_uniform_field(semi_axes: Vector, ratio: complex, direction: Vector) -> EllipsoidInUniformField:
    """Return the fields of e.x, e = direction, on the ellipsoid with the semi-axes along x, y and z."""
    return EllipsoidInUniformField(np.asarray(semi_axes, dtype=float), ratio, np.asarray(direction, dtype=float))


def sphere_in_uniform_field(direction: Vector, ratio: complex, radius: float = 1.0) -> EllipsoidInUniformField:
    """Return the fields of e.x, e = direction, on the sphere around the origin."""
    return ellipsoid_in_uniform_field((radius, radius, radius), ratio, direction)


def conductor_polygon_polarisability(n: int, area: float = 1.0) -> float:
    """Return alpha of the conducting regular n-gon: P = -alpha I (ratio -> infinity).

    alpha = tan(pi/n) Gamma(1/n)^4 / (2 pi n Gamma(2/n)^2) * area. It tends to 2 area, the disc, for n -> infinity. It
    is 2 pi times the square of the logarithmic capacity. A hole (ratio -> 0) has P = +alpha I by duality.
    """
    return float(np.tan(np.pi / n) * np.exp(4 * gammaln(1 / n) - 2 * gammaln(2 / n)) / (2 * np.pi * n) * area)
