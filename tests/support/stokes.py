"""Stokes flow with viscosity 1: -Laplacian of u + grad p = f, div u = 0, sigma = -p I + grad u + (grad u)^T.

With r = x - source, a point force f (on the fluid) gives

    plane  u = (-log|r| f + r (r.f)/|r|^2) / (4 pi),  p = r.f / (2 pi |r|^2),  sigma n = -r (r.f)(r.n) / (pi |r|^4),
    space  u = (f/|r| + r (r.f)/|r|^3) / (8 pi),      p = r.f / (4 pi |r|^3),  sigma n = -3 r (r.f)(r.n) / (4 pi |r|^5).

A point torque T (on the fluid) gives a rotlet. A symmetric pair of forces with the first moment S (f_j at places xi_k,
S_jk = sum f_j xi_k, symmetric, trace 0) gives a stresslet, -S_jk d/dx_k of the point force j:

    plane  u = r (r.S r) / (2 pi |r|^4),    p = r.S r / (pi |r|^4),
    space  u = 3 r (r.S r) / (8 pi |r|^5),  p = 3 r.S r / (4 pi |r|^5).

Resistance of an ellipsoid (Oberbeck, Jeffery). With D = sqrt(prod (a_j^2 + s)), chi = integral of ds/D and
alpha_i = integral of ds/((a_i^2 + s) D) over s > 0, the drag for unit velocity along axis i and the torque for unit
angular velocity around axis i are

    16 pi / (chi + alpha_i a_i^2),  16 pi (a_j^2 + a_k^2) / (3 (a_j^2 alpha_j + a_k^2 alpha_k)).
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import elliprd, elliprf

Vector = Sequence[float] | np.ndarray


def _from_source(x: np.ndarray, source: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Return r = x - source (m, d) and its length (m, 1)."""
    r = np.asarray(x, dtype=float) - np.asarray(source, dtype=float)
    return r, np.linalg.norm(r, axis=1, keepdims=True)


def stokeslet(x: np.ndarray, source: Vector, force: Vector) -> np.ndarray:
    """Return the velocity (m, d) at the points x (m, d) of a point force."""
    r, length = _from_source(x, source)
    f = np.asarray(force, dtype=float)
    along = (r @ f)[:, None]
    if r.shape[1] == 2:
        return (-np.log(length) * f + r * along / length**2) / (4 * np.pi)
    return (f / length + r * along / length**3) / (8 * np.pi)


def stokeslet_pressure(x: np.ndarray, source: Vector, force: Vector) -> np.ndarray:
    """Return the pressure (m,) at the points x (m, d) of a point force."""
    r, length = _from_source(x, source)
    d = r.shape[1]
    return r @ np.asarray(force, dtype=float) / (2 * (d - 1) * np.pi * length[:, 0] ** d)


def stokeslet_traction(x: np.ndarray, normal: np.ndarray, source: Vector, force: Vector) -> np.ndarray:
    """Return sigma n (m, d) at the points x (m, d) with normals (m, d) of a point force."""
    r, length = _from_source(x, source)
    d = r.shape[1]
    factor = (r @ np.asarray(force, dtype=float)) * np.sum(r * normal, axis=1) / length[:, 0] ** (d + 2)
    return -(1 / np.pi if d == 2 else 3 / (4 * np.pi)) * r * factor[:, None]


def rotlet(x: np.ndarray, source: Vector, torque: float | Vector) -> np.ndarray:
    """Return the velocity (m, d) of a point torque, a number in the plane and (3,) in space; the pressure is 0."""
    r, length = _from_source(x, source)
    if r.shape[1] == 2:
        return float(np.asarray(torque)) * np.stack([-r[:, 1], r[:, 0]], axis=1) / (4 * np.pi * length**2)
    return np.cross(np.asarray(torque, dtype=float), r) / (8 * np.pi * length**3)


def stresslet(x: np.ndarray, source: Vector, moment: np.ndarray) -> np.ndarray:
    """Return the velocity (m, d) of a symmetric pair of forces with the moment S (d, d), symmetric with trace 0."""
    r, length = _from_source(x, source)
    d = r.shape[1]
    pair = np.einsum("mi,ij,mj->m", r, np.asarray(moment, dtype=float), r)[:, None]
    return (1 / (2 * np.pi) if d == 2 else 3 / (8 * np.pi)) * r * pair / length ** (d + 2)


def stresslet_pressure(x: np.ndarray, source: Vector, moment: np.ndarray) -> np.ndarray:
    """Return the pressure (m,) of a symmetric pair of forces with the moment S (d, d), symmetric with trace 0."""
    r, length = _from_source(x, source)
    d = r.shape[1]
    pair = np.einsum("mi,ij,mj->m", r, np.asarray(moment, dtype=float), r)
    return (1 / np.pi if d == 2 else 3 / (4 * np.pi)) * pair / length[:, 0] ** (d + 2)


def sphere_flow(x: np.ndarray, radius: float, velocity: Vector) -> np.ndarray:
    """Return the velocity (m, 3) around a sphere at the origin that moves with the given velocity, at rest far away."""
    r, length = _from_source(x, (0.0, 0.0, 0.0))
    v = np.asarray(velocity, dtype=float)
    along = r * (r @ v)[:, None]
    near = v / length**3 - 3 * along / length**5
    return 0.75 * radius * (v / length + along / length**3) + 0.25 * radius**3 * near


def sphere_resistance(radius: float) -> tuple[float, float]:
    """Return the drag per velocity and the torque per angular velocity of a sphere."""
    return 6 * np.pi * radius, 8 * np.pi * radius**3


def ellipsoid_resistance(semi_axes: Vector) -> tuple[np.ndarray, np.ndarray]:
    """Return the drag (3,) per velocity along each axis and the torque (3,) per angular velocity around each axis.

    One semi-axis may be 0 (a disc); the torque for it then also holds.
    """
    squares = np.asarray(semi_axes, dtype=float) ** 2
    chi = 2 * elliprf(*squares)
    weighted = np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        weighted[i] = 0.0 if squares[i] == 0 else 2 / 3 * squares[i] * elliprd(squares[j], squares[k], squares[i])
    pairs = np.array([[1, 2], [2, 0], [0, 1]])
    torque = 16 * np.pi / 3 * squares[pairs].sum(axis=1) / weighted[pairs].sum(axis=1)
    return 16 * np.pi / (chi + weighted), torque
