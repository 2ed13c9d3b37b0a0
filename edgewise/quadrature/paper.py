"""The two rules of the paper, kept as baselines.

One has uniform nodes, as in the authors' script; the other has random nodes, as in the paper's text.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.geometry import AbstractSurface, Boundary
from edgewise.kernels import AbstractKernel, Layer, Singularity
from edgewise.quadrature.curves.rule import AbstractCurveRule
from edgewise.quadrature.rule import check_num_nodes


class Uniform(AbstractCurveRule):
    """Nodes on linspace(0, 2π) with both ends, equal weights 2π/n, kernel values cut off at `truncation` (β).

    The rule of the authors' published script. On a logarithm it converges with first order in 1/n, measured; the closed
    end is counted twice, which alone costs first order on smooth integrands. It serves targets apart from its nodes, as
    in the paper's training. An equation cannot be solved on the nodes themselves, where the kernel is nothing but its
    cut-off.
    """

    num_nodes: int = eqx.field(static=True)
    truncation: float = eqx.field(static=True)
    resolves = Singularity.LOG
    solves = False

    def __init__(self, num_nodes: int, truncation: float = 1e5):
        self.num_nodes = check_num_nodes("Uniform", num_nodes, even=False)
        self.truncation = check_truncation(truncation)

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        return np.linspace(0, 2 * np.pi, self.num_nodes), np.full(self.num_nodes, 2 * np.pi / self.num_nodes)

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1
    ) -> Inexact[Array, "n n"]:
        return truncated_matrix(kernel, layer, boundary, boundary, self.truncation)

    def observe(
        self, kernel: AbstractKernel, layer: Layer, target: Boundary, source: Boundary
    ) -> Inexact[Array, "m n"]:
        """The layer as a matrix from this rule's nodes to observation points apart from them."""
        return truncated_matrix(kernel, layer, target, source, self.truncation)


class MonteCarlo(AbstractCurveRule):
    """Random nodes, uniform in the boundary coordinate, equal weights 2π/n, kernel values cut off at `truncation` (β).

    The rule of the paper's text. Its error falls as n^(-1/2), with a variance of the order of the data.
    `seed` fixes the nodes. On a surface every patch draws its own, equally many on each, about n in all.
    """

    num_nodes: int = eqx.field(static=True)
    seed: int = eqx.field(static=True)
    truncation: float = eqx.field(static=True)
    resolves = Singularity.LOG
    solves = False

    def __init__(self, num_nodes: int, seed: int = 0, truncation: float = 1e5):
        self.num_nodes = check_num_nodes("MonteCarlo", num_nodes, even=False)
        self.seed = seed
        self.truncation = check_truncation(truncation)

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        nodes = np.random.default_rng(self.seed).uniform(0, 2 * np.pi, self.num_nodes)
        return nodes, np.full(self.num_nodes, 2 * np.pi / self.num_nodes)

    def place(self, family, parameters, dtype) -> Boundary:
        if not isinstance(family, AbstractSurface):
            return super().place(family, parameters, dtype)
        count = max(1, self.num_nodes // family.patches)
        nodes = np.random.default_rng(self.seed).uniform(0, 1, (family.patches, count, 2))
        return family.boundary(jnp.asarray(nodes, dtype), jnp.full(count, 1 / count, dtype), parameters)

    def matrix(
        self, kernel: AbstractKernel, layer: Layer, boundary: Boundary, *, sampling: int = 1
    ) -> Inexact[Array, "n n"]:
        return truncated_matrix(kernel, layer, boundary, boundary, self.truncation)

    def observe(
        self, kernel: AbstractKernel, layer: Layer, target: Boundary, source: Boundary
    ) -> Inexact[Array, "m n"]:
        """The layer as a matrix from this rule's nodes to observation points apart from them."""
        return truncated_matrix(kernel, layer, target, source, self.truncation)


def truncated_matrix(
    kernel: AbstractKernel, layer: Layer, target: Boundary, source: Boundary, truncation: float
) -> Inexact[Array, "m n"]:
    return truncated_kernel(kernel, layer, target, source, truncation) * source.weight


def truncated_kernel(
    kernel: AbstractKernel, layer: Layer, target: Boundary, source: Boundary, truncation: float
) -> Inexact[Array, "m n"]:
    """Kernel values above β, and those that are not numbers, become β, as the paper has it."""
    values = jax.vmap(lambda t: jax.vmap(lambda s: kernel(t, s, layer))(source))(target)
    harmless = jnp.isfinite(values) & (values.real <= truncation)
    real = jnp.where(harmless, values.real, truncation)
    # Part by part, so that whoever takes the parts of the result makes no complex numbers: the CPU is slow with them.
    return jax.lax.complex(real, jnp.where(harmless, values.imag, 0)) if jnp.iscomplexobj(values) else real


def check_truncation(truncation: float) -> float:
    if not truncation > 0:
        raise ValueError(f"`truncation` must be positive, got {truncation!r}; the paper's is 1e5.")
    return float(truncation)
