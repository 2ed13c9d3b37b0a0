"""Discs of another medium in a uniform field in the plane, exactly, by multipoles.

With z = x + iy, e = e_1 + i e_2 and t_j = (z - c_j) / R_j, the fields are

    outside  u = Re(conj(e) z) + sum_j Re sum_{n>=1} A_jn t_j^-n,
    inside   u = Re sum_{n>=0} D_jn t_j^n.

Let B_jn be the coefficients of everything that comes to disc j, as a power series in t_j. Then the interface conditions
(u continuous, du/dn outside = ratio du/dn inside) give, for n >= 1,

    A_jn = kappa_j conj(B_jn),  kappa_j = (1 - ratio_j)/(1 + ratio_j),  D_jn = 2/(1 + ratio_j) B_jn,  D_j0 = B_j0,

and the binomial series of t_l^-n around c_j gives B from A. The coefficients fall geometrically while discs do not
touch, so the sum stops at the rounding error. The ratio is real.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Vector = Sequence[float] | np.ndarray


def complex_points(x: np.ndarray) -> np.ndarray:
    """Return x + iy of the points x (m, 2)."""
    x = np.asarray(x, dtype=float)
    return x[..., 0] + 1j * x[..., 1]


def orders_needed(radii: np.ndarray, centres: np.ndarray) -> int:
    """Return the number of multipoles after which the coefficients are below the rounding error.

    All images in disc l lie within rho_l R_l of its centre. Their images in disc j lie within
    R_j^2 / (distance - rho_l R_l) of the centre of j. The iteration from rho = 0 finds all rho. A_jn falls like
    rho_j^n.
    """
    distance = np.abs(centres[:, None] - centres[None, :]) + np.diag(np.full(len(radii), np.inf))
    if np.any(distance <= radii[:, None] + radii[None, :]):
        raise ValueError("The discs touch or overlap.")
    rho = np.zeros(len(radii))
    for _ in range(2000):
        rho = np.max(radii[:, None] / (distance - rho * radii), axis=1)
    rate = rho.max()
    count = 4 if rate == 0 else int(np.ceil(np.log(1e-19) / np.log(rate))) + 4
    if count > 700:
        raise ValueError("The discs are too close for the multipole series.")
    return count


def translation(radius_from: float, radius_to: float, step: complex, orders: int) -> np.ndarray:
    """Return T (orders + 1, orders) with (R_l/(z - c_l))^n = sum_m T[m, n - 1] ((z - c_j)/R_j)^m, step = c_j - c_l."""
    n = np.arange(1, orders + 1)
    matrix = np.zeros((orders + 1, orders), dtype=complex)
    matrix[0] = (radius_from / step) ** n
    for m in range(1, orders + 1):
        matrix[m] = -matrix[m - 1] * (n + m - 1) / m * (radius_to / step)
    return matrix


def arriving_from_others(radii: np.ndarray, centres: np.ndarray, orders: int) -> np.ndarray:
    """Return the matrix (discs, orders + 1, discs, orders) that takes the A of all discs to the B of all discs."""
    count = len(radii)
    matrix = np.zeros((count, orders + 1, count, orders), dtype=complex)
    for j in range(count):
        for other in range(count):
            if other != j:
                matrix[j, :, other] = translation(radii[other], radii[j], centres[j] - centres[other], orders)
    return matrix


def solve_conjugate(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the complex a with a - matrix conj(a) = right."""
    n = len(right)
    real = np.block([[np.eye(n) - matrix.real, -matrix.imag], [-matrix.imag, np.eye(n) + matrix.real]])
    solution = np.linalg.solve(real, np.concatenate([right.real, right.imag]))
    return solution[:n] + 1j * solution[n:]


@dataclass(frozen=True)
class DiscsInUniformField:
    """The fields of the discs; outside_coefficients[j, n - 1] is A_jn and inside_coefficients[j, n] is D_jn."""

    radii: np.ndarray
    centres: np.ndarray
    ratios: np.ndarray
    direction: np.ndarray
    outside_coefficients: np.ndarray
    inside_coefficients: np.ndarray

    def incident(self, x: np.ndarray) -> np.ndarray:
        """Return e.x at the points x (m, 2)."""
        return np.asarray(x) @ self.direction

    def scattered(self, x: np.ndarray) -> np.ndarray:
        """Return the scattered field at the points x (m, 2) outside all discs."""
        z = complex_points(x)
        total = np.zeros(z.shape)
        for radius, centre, a in zip(self.radii, self.centres, self.outside_coefficients, strict=True):
            inverse = radius / (z - centre)
            total += (inverse * np.polynomial.polynomial.polyval(inverse, a)).real
        return total

    def inside(self, x: np.ndarray, disc: int) -> np.ndarray:
        """Return the total field at the points x (m, 2) inside the disc with the given number."""
        t = (complex_points(x) - self.centres[disc]) / self.radii[disc]
        return np.polynomial.polynomial.polyval(t, self.inside_coefficients[disc]).real

    @property
    def dipole(self) -> np.ndarray:
        """The dipole p (2,) with u_s ~ p.x / (2 pi |x|^2)."""
        p = 2 * np.pi * np.sum(self.outside_coefficients[:, 0] * self.radii)
        return np.array([p.real, p.imag])


def discs_in_uniform_field(
    radii: Vector, centres: np.ndarray | Sequence[Vector], ratio: float | Vector, direction: Vector
) -> DiscsInUniformField:
    """Return the fields of e.x, e = direction, on discs with the given radii (j,), centres (j, 2) and ratio(s)."""
    r, c, e = np.asarray(radii, dtype=float), complex_points(np.asarray(centres)), np.asarray(direction, dtype=float)
    ratios = np.broadcast_to(np.asarray(ratio, dtype=float), r.shape)
    orders = orders_needed(r, c)
    others = arriving_from_others(r, c, orders)
    incident = np.zeros((len(r), orders + 1), dtype=complex)
    incident[:, 0] = (e[0] - 1j * e[1]) * c
    incident[:, 1] = (e[0] - 1j * e[1]) * r
    kappa = np.repeat(2 / (1 + ratios) - 1, orders)
    size = len(r) * orders
    matrix = kappa[:, None] * others[:, 1:].reshape(size, size).conj()
    a = solve_conjugate(matrix, kappa * incident[:, 1:].ravel().conj()).reshape(len(r), orders)
    arriving = incident + np.einsum("jmln,ln->jm", others, a)
    arriving[:, 1:] *= (2 / (1 + ratios))[:, None]
    return DiscsInUniformField(r, c, ratios, e, a, arriving)


def two_discs_in_uniform_field(
    radii: Vector, centres: np.ndarray | Sequence[Vector], ratio: float | Vector, direction: Vector
) -> DiscsInUniformField:
    """Return the fields of e.x, e = direction, on two discs."""
    if len(radii) != 2:
        raise ValueError("There must be two discs.")
    return discs_in_uniform_field(radii, centres, ratio, direction)


def polarisability(radii: Vector, centres: np.ndarray | Sequence[Vector], ratio: float | Vector) -> np.ndarray:
    """Return P (2, 2) of all discs together: p = P e, u_s ~ p.x / (2 pi |x|^2)."""
    columns = [discs_in_uniform_field(radii, centres, ratio, e).dipole for e in ((1.0, 0.0), (0.0, 1.0))]
    return np.stack(columns, axis=1)
