"""A preconditioner for equations on curves: the inverse of their symbol on circles."""

import jax.numpy as jnp
import numpy as np

from edgewise.quadrature.discretisation import Preconditioner
from edgewise.special import wave_numbers


def circle_preconditioner(orders: tuple[int, ...], count: int, components: int = 1) -> Preconditioner:
    """The inverse, on circles, of operators of these orders: -1 for a single layer, +1 for a hypersingular one.

    It acts on the unknowns on the boundary, `count` for each order, and leaves those behind them as they are. Jacobians
    cancel: a hypersingular equation is multiplied by them, and one of order -1 has density times jacobian for its
    unknown.
    """
    n = count // components
    if not any(orders):
        return lambda residual: residual
    symbols = np.stack([np.maximum(2.0 * np.abs(wave_numbers(n)), 1) ** -order for order in orders])[:, None, :]
    size = jnp.asarray(symbols)

    def precondition(residual):
        boundary, rest = residual[: len(orders) * count], residual[len(orders) * count :]
        smooth = jnp.fft.ifft(
            jnp.fft.fft(boundary.reshape(len(orders), components, n)) * size.astype(residual.real.dtype)
        ).reshape(-1)
        smooth = smooth if jnp.iscomplexobj(residual) else smooth.real
        return jnp.append(smooth, rest)

    return precondition
