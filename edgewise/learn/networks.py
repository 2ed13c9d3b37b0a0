"""Networks from (parameters, node) to the unknowns of the boundary equation there: NOMAD and DeepONet."""

import abc
import itertools
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, PRNGKeyArray

from edgewise.geometry import Boundary
from edgewise.learn.inputs import AbstractSight, Fixed, ParameterInputs

ACTIVATIONS = {"gelu": jax.nn.gelu, "tanh": jnp.tanh, "silu": jax.nn.silu, "sin": jnp.sin}


class Perceptron(eqx.Module):
    """A multilayer perceptron with Xavier's initial weights; the last layer is linear."""

    weights: tuple[Float[Array, "..."], ...]
    biases: tuple[Float[Array, "..."], ...]
    activation: str = eqx.field(static=True)

    def __init__(self, sizes: tuple[int, ...], activation: str, dtype: Any, key: PRNGKeyArray):
        pairs = list(itertools.pairwise(sizes))
        keys = jax.random.split(key, len(pairs))
        self.weights = tuple(xavier(*pair, dtype, k) for pair, k in zip(pairs, keys, strict=True))
        self.biases = tuple(jnp.zeros(size, dtype) for size in sizes[1:])
        self.activation = activation

    def __call__(self, x: Float[Array, " in"]) -> Float[Array, " out"]:
        *hidden, last = zip(self.weights, self.biases, strict=True)
        for weight, bias in hidden:
            x = ACTIVATIONS[self.activation](weight @ x + bias)
        return last[0] @ x + last[1]


def xavier(fan_in: int, fan_out: int, dtype: Any, key: PRNGKeyArray) -> Float[Array, "out in"]:
    return jax.random.normal(key, (fan_out, fan_in), dtype) * (2 / (fan_in + fan_out)) ** 0.5


class AbstractNetwork(eqx.Module):
    """A code for every member, features for every node, and what both together give.

    In three steps, so that a batch encodes each member once, and a network that sees the boundary coordinate computes
    its features once for all members.
    """

    @property
    @abc.abstractmethod
    def is_shared(self) -> bool:
        """Whether all members share the features."""

    @abc.abstractmethod
    def encode(self, parameters: Mapping[str, Any]) -> Any:
        """The member as the decoder sees it."""

    def encode_many(self, members: Mapping[str, Array], count: int) -> Any:
        """The codes of `count` members along a first axis."""
        return jax.vmap(self.encode, axis_size=count)(members)

    @abc.abstractmethod
    def features(self, node: Boundary) -> Any:
        """One node as the decoder sees it."""

    @abc.abstractmethod
    def decode(self, code: Any, features: Any) -> Inexact[Array, " channels"]:
        """The unknowns of the equation at the node."""

    @abc.abstractmethod
    def scalars(self, code: Any) -> Inexact[Array, " p"]:
        """The coefficients of the polynomial that the field has beside its layers."""

    def factor(self, nodes: Boundary, parameters: Mapping[str, Any]) -> Inexact[Array, " n"] | None:
        """The known factor of the unknowns at nodes, which multiplies what is decoded; None where there is none."""
        return None


class Output(eqx.Module):
    """Real numbers of a network, in the unknowns' own size, joined to complex ones where the unknowns are complex."""

    size: Fixed
    """The size of each channel, then of each scalar."""
    channels: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)

    @property
    def count(self) -> int:
        return self.channels * (2 if self.is_complex else 1)

    @property
    def scalar_count(self) -> int:
        return (self.size.value.shape[0] - self.channels) * (2 if self.is_complex else 1)

    def values(self, numbers: Array) -> Array:
        return self._joined(numbers) * self.size.value[: self.channels]

    def scalars(self, numbers: Array) -> Array:
        return self._joined(numbers) * self.size.value[self.channels :]

    def _joined(self, numbers: Array) -> Array:
        if not self.is_complex:
            return numbers
        real, imaginary = numbers.reshape(2, -1)
        return jax.lax.complex(real, imaginary)


class Nomad(AbstractNetwork):
    """Encoder on the parameters, decoder on its code and the features together, nonlinear in both (the paper's
    network).

    The first layer of the decoder is split into the part that sees the code and the part that sees the features: a
    member pays for the one, a node for the other, and a pair of them for what follows.

    Reference: J. Seidman, G. Kissas, P. Perdikaris and G. Pappas, "NOMAD", NeurIPS 2022.
    """

    inputs: ParameterInputs
    sight: AbstractSight
    encoder: Perceptron
    from_code: Float[Array, "h p"]
    from_features: Float[Array, "h f"]
    first_bias: Float[Array, " h"]
    decoder: Perceptron
    head: Float[Array, "scalars p"]
    output: Output

    def __init__(
        self,
        inputs: ParameterInputs,
        sight: AbstractSight,
        output: Output,
        *,
        layers: int,
        neurons: int,
        p: int,
        activation: str,
        dtype: Any,
        key: PRNGKeyArray,
    ):
        encoder, first, decoder = jax.random.split(key, 3)
        hidden = (neurons,) * layers
        self.inputs, self.sight, self.output = inputs, sight, output
        self.encoder = Perceptron((inputs.size, *hidden, p), activation, dtype, encoder)
        joint = xavier(p + sight.size, neurons, dtype, first)
        self.from_code, self.from_features = joint[:, :p], joint[:, p:]
        self.first_bias = jnp.zeros(neurons, dtype)
        self.decoder = Perceptron((*hidden, output.count), activation, dtype, decoder)
        self.head = jnp.zeros((output.scalar_count, p), dtype)

    @property
    def is_shared(self) -> bool:
        return self.sight.is_shared

    def encode(self, parameters: Mapping[str, Any]) -> tuple[Array, Array]:
        code = self.encoder(self.inputs.vector(parameters).astype(self.from_code.dtype))
        return code, self.from_code @ code

    def features(self, node: Boundary) -> Float[Array, " h"]:
        return self.from_features @ self.sight(node) + self.first_bias

    def decode(self, code: tuple[Array, Array], features: Float[Array, " h"]) -> Inexact[Array, " channels"]:
        activation = ACTIVATIONS[self.decoder.activation]
        return self.output.values(self.decoder(activation(code[1] + features)))

    def scalars(self, code: tuple[Array, Array]) -> Inexact[Array, " p"]:
        return self.output.scalars(self.head @ code[0])


class DeepONet(AbstractNetwork):
    """Σ_j b_j(parameters) τ_j(node): a branch and a trunk, joined linearly.

    Branch and trunk are each a linear map of fixed functions (polynomials of the parameters; features of the node) plus
    a perceptron. At the start the first b_j are the polynomials themselves and τ = 0: the first step of Gauss and
    Newton is then a linear least-squares problem in a good basis, and what follows bends it.

    Reference: L. Lu, P. Jin, G. Pang, Z. Zhang and G. Karniadakis, "DeepONet", Nature Machine Intelligence 2021.
    """

    inputs: ParameterInputs
    sight: AbstractSight
    branch: Perceptron
    trunk: Perceptron | None
    branch_skip: Float[Array, "p terms"]
    trunk_skip: Float[Array, "outputs·p f"]
    head: Float[Array, "scalars p"]
    output: Output

    def __init__(
        self,
        inputs: ParameterInputs,
        sight: AbstractSight,
        output: Output,
        *,
        layers: int,
        neurons: int,
        p: int,
        deep_trunk: bool,
        activation: str,
        dtype: Any,
        key: PRNGKeyArray,
    ):
        branch, trunk = jax.random.split(key)
        hidden = (neurons,) * layers
        self.inputs, self.sight, self.output = inputs, sight, output
        self.branch = Perceptron((inputs.size, *hidden, p), activation, dtype, branch)
        terms = len(inputs.terms)
        self.branch_skip = jnp.eye(p, terms, dtype=dtype)
        # Functions that begin as polynomials begin as nothing else.
        last = self.branch.weights[-1].at[: min(p, terms)].set(0)
        self.branch = eqx.tree_at(lambda b: b.weights[-1], self.branch, last)
        rows = output.count * p
        self.trunk = Perceptron((sight.size, *hidden, rows), activation, dtype, trunk) if deep_trunk else None
        if self.trunk is not None:
            self.trunk = eqx.tree_at(lambda t: t.weights[-1], self.trunk, 0 * self.trunk.weights[-1])
        self.trunk_skip = jnp.zeros((rows, sight.size), dtype)
        self.head = jnp.zeros((output.scalar_count, p), dtype)

    @property
    def is_shared(self) -> bool:
        return self.sight.is_shared

    def encode(self, parameters: Mapping[str, Any]) -> Float[Array, " p"]:
        dtype = self.head.dtype
        skip = self.branch_skip @ self.inputs.polynomials(parameters).astype(dtype)
        return self.branch(self.inputs.vector(parameters).astype(dtype)) + skip

    def features(self, node: Boundary) -> Float[Array, "outputs p"]:
        seen = self.sight(node).astype(self.head.dtype)
        rows = self.trunk_skip @ seen
        if self.trunk is not None:
            rows = rows + self.trunk(seen)
        return rows.reshape(self.output.count, -1)

    def decode(self, code: Float[Array, " p"], features: Float[Array, "outputs p"]) -> Inexact[Array, " channels"]:
        return self.output.values(features @ code)

    def scalars(self, code: Float[Array, " p"]) -> Inexact[Array, " p"]:
        return self.output.scalars(self.head @ code)


def unknowns(
    network: AbstractNetwork, nodes: Boundary, parameters: Mapping[str, Any], code: Any = None
) -> Inexact[Array, " cn+p"]:
    """The unknowns of one member's boundary equation: channel by channel at the nodes, then the scalars.

    Arguments:
        code: Of the member, where it is known already.
    """
    code = network.encode(parameters) if code is None else code
    values = jax.vmap(lambda features: network.decode(code, features))(jax.vmap(network.features)(nodes))
    return joined(times_factor(network, values, nodes, parameters), network.scalars(code))


def times_factor(
    network: AbstractNetwork, values: Inexact[Array, "n ..."], nodes: Boundary, parameters: Mapping[str, Any]
) -> Inexact[Array, "n ..."]:
    """The decoded values at the nodes, times the factor that is known beforehand."""
    factor = network.factor(nodes, parameters)
    if factor is None:
        return values
    return values * factor.astype(values.dtype).reshape(-1, *(1,) * (values.ndim - 1))


def joined(values: Inexact[Array, "n channels"], scalars: Inexact[Array, " p"]) -> Inexact[Array, " cn+p"]:
    """Values at nodes and scalars in the order of an equation's unknowns."""
    return jnp.concatenate([values.T.reshape(-1), scalars])


def split_trainable(network: AbstractNetwork) -> tuple[AbstractNetwork, AbstractNetwork]:
    """What training changes, and the rest; `equinox.combine` joins them."""

    def is_fixed(node: Any) -> bool:
        return isinstance(node, Fixed)

    spec = jax.tree_util.tree_map(eqx.is_inexact_array, network, is_leaf=is_fixed)
    return eqx.partition(network, spec)
