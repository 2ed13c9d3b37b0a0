"""What is stored of two half-balls agrees with itself: the optical theorem, symmetry, and where fields are missing."""

import halfballs
import numpy as np

K = halfballs.WAVENUMBER


def test_axial_waves_lose_what_they_scatter():
    """σ = (4π/k) Im u_inf forward, which lies past the last node: extrapolated as a polynomial in cos θ."""
    stored = halfballs.reference()
    section = 2 * np.pi * np.abs(stored.far_axial) ** 2 @ stored.weights
    degrees = np.arange(60)
    values = np.polynomial.legendre.legvander(stored.cos_theta, 59)
    coefficients = (stored.far_axial * stored.weights) @ values * (degrees + 0.5)
    assert np.abs(4 * np.pi / K * coefficients.sum(axis=1).imag / section - 1).max() < 1e-11


def test_transverse_waves_lose_what_they_scatter():
    stored = halfballs.reference()
    phi = 2 * np.pi * np.arange(64) / 64
    for i in range(len(stored.t)):
        far = stored.far_transverse(i, stored.theta[:, None], phi)
        section = 2 * np.pi * stored.weights @ np.mean(np.abs(far) ** 2, axis=1)
        forward = stored.far_transverse(i, np.pi / 2, 0.0)
        assert abs(4 * np.pi / K * forward.imag / section - 1) < 1e-9
        # Seen in the mirror z = 0 the bodies and the wave are the same.
        theta = np.linspace(0.0, np.pi, 50)
        assert np.abs(stored.far_transverse(i, theta, 0.4) - stored.far_transverse(i, np.pi - theta, 0.4)).max() < 1e-9


def test_fields_are_missing_in_the_bodies():
    stored = halfballs.reference()
    x, _, z = stored.slice_points.T
    for t, total in zip(stored.t, stored.slice_total, strict=True):
        height = np.abs(z) - t
        inside = (height > 1e-9) & (x**2 + height**2 < 1 - 1e-9)
        assert np.all(np.isnan(total[inside]))
        outside = (height < -1e-9) | (x**2 + height**2 > 1 + 1e-9)
        assert np.all(np.isfinite(total[outside])) and outside.sum() > 1000


def test_relative_error():
    stored = halfballs.reference()
    far = stored.far_axial
    assert np.allclose(halfballs.relative_l2(stored.weights, 1.01 * far, far), 0.01)
