"""Scattering of the plane wave e^{ik d·x} by a ball about the origin: the series of Mie. Time factor e^{-iωt}."""

import numpy as np
from scipy.special import eval_legendre, spherical_jn, spherical_yn


def far_field(k, directions, incidence, hard=False, radius=1.0):
    """u_inf with u_s ~ e^{ikr}/r · u_inf(x̂), for unit vectors of shape (..., 3)."""
    degree, share = _shares(k, hard, radius)
    cosine = np.clip(np.asarray(directions) @ np.asarray(incidence), -1, 1)
    return 1j / k * np.einsum("n,n...->...", (2 * degree + 1) * share, eval_legendre(*_outer(degree, cosine)))


def scattered(k, points, incidence, hard=False, radius=1.0):
    """The scattered field at points of shape (..., 3), outside the ball or on it."""
    points = np.asarray(points)
    distance = np.linalg.norm(points, axis=-1)
    cosine = np.clip(points @ np.asarray(incidence) / distance, -1, 1)
    degree, share = _shares(k, hard, radius)
    n, argument = _outer(degree, k * distance)
    with np.errstate(all="ignore"):
        wave = share.reshape(n.shape) * (spherical_jn(n, argument) + 1j * spherical_yn(n, argument))
    # Where a Hankel function overflows, its share in the field is below rounding.
    wave = np.where(np.isfinite(wave), wave, 0)
    return -np.sum(1j**n * (2 * n + 1) * wave * eval_legendre(n, cosine), axis=0)


def cross_section(k, hard=False, radius=1.0):
    """∫ |u_inf|² over all directions."""
    degree, share = _shares(k, hard, radius)
    return 4 * np.pi / k**2 * np.sum((2 * degree + 1) * np.abs(share) ** 2)


def _shares(k, hard, radius):
    """j_n(ka) / h_n(ka) for n = 0, 1, ..., or the ratio of derivatives: what of each partial wave is scattered."""
    degree = np.arange(int(k * radius) + 40)
    with np.errstate(all="ignore"):
        regular, singular = (bessel(degree, k * radius, hard) for bessel in (spherical_jn, spherical_yn))
        share = regular / (regular + 1j * singular)
    return degree, np.where(np.isfinite(singular), share, 0)


def _outer(degree, argument):
    return degree.reshape(-1, *[1] * np.ndim(argument)), argument
