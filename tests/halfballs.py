"""Stored scattering by two half-balls at k = 2π: `data/README.md` says what, and how it was made."""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

WAVENUMBER = 2 * np.pi


class Reference(NamedTuple):
    """Far fields and total fields for every `t`."""

    t: np.ndarray
    theta: np.ndarray
    """From +z, at Gauss-Legendre nodes in cos θ."""
    cos_theta: np.ndarray
    weights: np.ndarray
    far_axial: np.ndarray
    """(t, θ): of e^{ikz}."""
    modes: np.ndarray
    """(t, θ, m): of e^{ikx}, u_inf = Σ modes cos(mφ)."""
    slice_x: np.ndarray
    slice_z: np.ndarray
    slice_points: np.ndarray
    """(1681, 3): the grid on y = 0, z running faster."""
    slice_total: np.ndarray
    """(t, 1681): the total field of e^{ikz} there, NaN inside the bodies."""

    def far_transverse(self, t_index, theta, phi):
        """u_inf of e^{ikx} in the directions of angles that broadcast, φ from +x: exact at the nodes, interpolated elsewhere."""
        theta, phi = np.broadcast_arrays(theta, phi)
        waves = np.cos(np.arange(self.modes.shape[-1]) * phi[..., None])
        return np.sum(self._modes_at(t_index, theta) * waves, axis=-1)

    def _modes_at(self, t_index, theta):
        # Over sin θ, an odd mode is a polynomial in cos θ; an even one is one as it stands.
        odd = np.arange(self.modes.shape[-1]) % 2
        parts = self.modes[t_index] / np.sin(self.theta)[:, None] ** odd
        apart = np.cos(theta)[..., None] - self.cos_theta
        nearest = np.argmin(np.abs(apart), axis=-1)
        hit = np.take_along_axis(np.abs(apart), nearest[..., None], -1)[..., 0] < 1e-14
        # Barycentric weights of Gauss-Legendre nodes: (-1)^j sqrt((1 - x²) w), Wang and Xiang (2012).
        weight = (-1.0) ** np.arange(len(self.theta)) * np.sin(self.theta) * np.sqrt(self.weights)
        share = weight / np.where(hit[..., None], 1.0, apart)
        found = share @ parts / share.sum(axis=-1, keepdims=True)
        return np.where(hit[..., None], parts[nearest], found) * np.sin(theta)[..., None] ** odd


@functools.cache
def reference() -> Reference:
    with np.load(Path(__file__).parent / "data" / "helmholtz_halfballs.npz") as stored:
        parts = dict(stored)
    x, z = np.meshgrid(parts["slice_x"], parts["slice_z"], indexing="ij")
    return Reference(
        *(parts[name] for name in ("t", "theta", "cos_theta", "weights", "far_axial", "far_transverse_modes")),
        slice_x=parts["slice_x"],
        slice_z=parts["slice_z"],
        slice_points=np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3),
        slice_total=parts["field_axial"].reshape(len(parts["t"]), -1),
    )


def relative_l2(weights, found, true):
    """sqrt(Σ w |found - true|² / Σ w |true|²) over the last axis, e.g. over θ."""
    return np.sqrt(np.sum(weights * np.abs(found - true) ** 2, axis=-1) / np.sum(weights * np.abs(true) ** 2, axis=-1))
