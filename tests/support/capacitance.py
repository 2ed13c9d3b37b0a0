"""Capacitance matrices of conducting spheres in space and of conducting discs in the plane.

A unit charge has the potential 1/(4 pi r) in space and -log r / (2 pi) in the plane (-Laplacian of u = delta), thus
a lone sphere has C = 4 pi a.

Two spheres (Kelvin, Maxwell, Kirchhoff). Give sphere 1 the charge 4 pi a for potential 1. A charge q outside a sphere
of radius b, at the distance s from its centre, has the image -q b / s at the distance b^2 / s from the centre. The
images of images go on for ever and fall geometrically; C_i1 is the sum of the charges in sphere i.

Discs. The bounded potential is, with t_j = (z - c_j) / R_j,

    u = v + sum_j (-q_j log|z - c_j| / (2 pi) + Re sum_{n>=1} A_jn t_j^-n),  sum_j q_j = 0,

with the value v at infinity. On disc j, u = V_j. Thus A_jn + conj(B_jn) = 0 for n >= 1, and
v - q_j log R_j / (2 pi) + Re B_j0 = V_j, where B_jn are the coefficients, in powers of t_j, of what comes from the
other discs. Then q = C V; C is symmetric and its rows have the sum 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .discs import arriving_from_others, complex_points, orders_needed

Vector = Sequence[float] | np.ndarray


def _charges(near: float, far: float, distance: float) -> tuple[float, float]:
    """Return the charges on the near sphere, with potential 1, and on the far sphere, with potential 0."""
    radii, totals = (near, far), [0.0, 0.0]
    charge, place, side = 4 * np.pi * near, 0.0, 0
    while True:
        totals[side] += charge
        if abs(charge) < 1e-18 * totals[0]:
            return totals[0], totals[1]
        gap = distance - place
        side = 1 - side
        charge, place = -charge * radii[side] / gap, radii[side] ** 2 / gap


def two_spheres(radii: Vector, distance_between_centres: float) -> np.ndarray:
    """Return C (2, 2) of two spheres that do not touch: Q_i = sum_j C_ij V_j, with the potential 0 at infinity."""
    a, b = float(radii[0]), float(radii[1])
    if distance_between_centres <= a + b:
        raise ValueError("The spheres touch or overlap.")
    first, second = _charges(a, b, distance_between_centres), _charges(b, a, distance_between_centres)
    return np.array([[first[0], second[1]], [first[1], second[0]]])


@dataclass(frozen=True)
class ConductingDiscs:
    """The potential of conducting discs with total charge 0."""

    radii: np.ndarray
    centres: np.ndarray
    charges: np.ndarray
    at_infinity: float
    coefficients: np.ndarray

    def potential(self, x: np.ndarray) -> np.ndarray:
        """Return u at the points x (m, 2) outside all discs."""
        z = complex_points(x)
        total = np.full(z.shape, self.at_infinity)
        for radius, centre, q, a in zip(self.radii, self.centres, self.charges, self.coefficients, strict=True):
            inverse = radius / (z - centre)
            total -= q * np.log(np.abs(z - centre)) / (2 * np.pi)
            total += (inverse * np.polynomial.polynomial.polyval(inverse, a)).real
        return total


def _solve(radii: Vector, centres: np.ndarray | Sequence[Vector], potentials: np.ndarray) -> list[ConductingDiscs]:
    """Return the potentials for several right sides, the columns of potentials."""
    r, c = np.asarray(radii, dtype=float), complex_points(np.asarray(centres))
    count, orders = len(r), orders_needed(r, c)
    others = arriving_from_others(r, c, orders)
    logs = np.zeros((count, orders + 1, count), dtype=complex)
    m = np.arange(1, orders + 1)
    for j in range(count):
        for other in range(count):
            if other != j:
                step = c[j] - c[other]
                logs[j, 0, other] = -np.log(abs(step)) / (2 * np.pi)
                logs[j, 1:, other] = -((-1.0) ** (m + 1)) / m * (r[j] / step) ** m / (2 * np.pi)
    size = count * orders
    among = others[:, 1:].reshape(size, size).conj()
    charge_to_a = logs[:, 1:].reshape(size, count).conj()
    constant = others[:, 0].reshape(count, size)
    # The unknowns are Re A, Im A, q and v; the equations are A + conj(B) = 0, u = V on the discs, and sum q = 0.
    matrix = np.zeros((2 * size + count + 1, 2 * size + count + 1))
    re, im, q, v = slice(0, size), slice(size, 2 * size), slice(2 * size, 2 * size + count), 2 * size + count
    matrix[re, re], matrix[re, im] = np.eye(size) + among.real, among.imag
    matrix[im, re], matrix[im, im] = among.imag, np.eye(size) - among.real
    matrix[re, q], matrix[im, q] = charge_to_a.real, charge_to_a.imag
    matrix[q, re], matrix[q, im] = constant.real, -constant.imag
    matrix[q, q] = logs[:, 0].real - np.diag(np.log(r)) / (2 * np.pi)
    matrix[q, v], matrix[v, q] = 1.0, 1.0
    right = np.zeros((2 * size + count + 1, potentials.shape[1]))
    right[q] = potentials
    found = []
    for s in np.linalg.solve(matrix, right).T:
        found.append(ConductingDiscs(r, c, s[q], float(s[v]), (s[re] + 1j * s[im]).reshape(count, orders)))
    return found


def discs(radii: Vector, centres: np.ndarray | Sequence[Vector]) -> np.ndarray:
    """Return C (j, j) of discs with radii (j,) and centres (j, 2): q = C V for the bounded potential."""
    return np.stack([s.charges for s in _solve(radii, centres, np.eye(len(radii)))], axis=1)


def discs_potential(radii: Vector, centres: np.ndarray | Sequence[Vector], potentials: Vector) -> ConductingDiscs:
    """Return the bounded potential that has the given value on each disc."""
    return _solve(radii, centres, np.asarray(potentials, dtype=float)[:, None])[0]
