"""A curve with corners as the source of a field: its panels, and how densities come to their nodes."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from edgewise.geometry import Boundary
from edgewise.kernels.nearby import Weights, as_complex
from edgewise.quadrature.curves.panels import NODES, ORDER, Panels, panel_weights, square
from edgewise.quadrature.curves.source import AbstractSource
from edgewise.special import wave_numbers

# Equispaced nodes of a density on the length of a panel: Gauss's are twice as many.
PANEL_NODES = 8
# The plain rule may not be enough where a node is nearer than this, in units of half a panel.
SUSPECT = 3.0


class PanelSource(AbstractSource):
    """Gauss's nodes on equal panels of one curve, for densities at n equispaced nodes in the middle of their cells."""

    panels: Panels
    x: Float[Array, "k 2"]
    velocity: Float[Array, "k 2"]
    step: Float[Array, " k"]

    def __init__(self, nodes: Boundary, step: Float[Array, " k"]):
        assert nodes.anchor is not None and nodes.offset is not None, "panels are measured from corners"
        self.x, self.velocity, self.step = nodes.x, nodes.velocity, step
        offset, velocity = (part.reshape(-1, ORDER, 2) for part in (nodes.offset, self.velocity))
        self.panels = Panels(nodes.anchor[::ORDER], offset, velocity, step.reshape(-1, ORDER).sum(axis=1) / 2)

    def spread(self, values: Array) -> Array:
        n = values.shape[0]
        # Node l of every panel is the same way from the equispaced nodes: one shift of all of them, every eighth kept.
        shift = jnp.asarray((NODES + 1) / 2 * PANEL_NODES - 0.5) * (2 * np.pi / n)
        modes = np.where(2 * np.abs(wave_numbers(n)) == n, 0, wave_numbers(n))
        waves = jnp.exp(1j * modes * shift[:, None])
        # The highest mode of an even grid is a cosine.
        waves = waves.at[:, n // 2].set(jnp.cos(n / 2 * shift))
        shifted = jnp.fft.ifft(jnp.fft.fft(values) * waves, axis=-1)[:, ::PANEL_NODES].T.reshape(-1)
        shifted = shifted if jnp.iscomplexobj(values) else shifted.real
        return shifted.astype(jnp.result_type(values, self.x.dtype))

    def thinned(self, values: Array) -> Array:
        return values

    def may_be_close(self, target: Array) -> Array:
        squares = square(as_complex(target) - as_complex(self.x)).reshape(-1, ORDER)
        unit = square(as_complex(self.panels.velocity) * self.panels.half[:, None])
        return jnp.any(squares < SUSPECT**2 * unit)

    def weights(self, target: Array, left: bool) -> tuple[Weights, Array, Array]:
        return panel_weights(self.panels, target, left)
