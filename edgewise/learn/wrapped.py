"""Networks made of another one: known factors, sums and derivatives around what is learned."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from edgewise.base.named import bind
from edgewise.geometry import Boundary
from edgewise.learn.amounts import Superposition
from edgewise.learn.inputs import Fixed
from edgewise.learn.networks import AbstractNetwork


class AbstractMadeOf(AbstractNetwork):
    """Makes its unknowns from another network's; everything else is the other's."""

    network: AbstractNetwork

    @property
    def is_shared(self) -> bool:
        return self.network.is_shared

    def encode(self, parameters: Mapping[str, Any]) -> Any:
        return self.network.encode(parameters)

    def features(self, node: Boundary) -> Any:
        return self.network.features(node)

    def decode(self, code: Any, features: Any) -> Inexact[Array, " channels"]:
        return self.network.decode(code, features)

    def scalars(self, code: Any) -> Inexact[Array, " p"]:
        return self.network.scalars(code)

    def factor(self, nodes: Boundary, parameters: Mapping[str, Any]) -> Inexact[Array, " n"] | None:
        return self.network.factor(nodes, parameters)


class NormalDerivative(AbstractMadeOf):
    """One function v of the position for a pair of layers: -∂v/∂n on the single one, -v on the double one.

    The paper's equation for plates, u = -∫ (∂v/∂n G + v ∂G/∂n), with ∂v/∂n by automatic differentiation of the network.
    """

    @property
    def is_shared(self) -> bool:
        return False

    def features(self, node: Boundary) -> Any:
        def seen(x):
            return self.network.features(eqx.tree_at(lambda n: n.x, node, x))

        return *jax.jvp(seen, (node.x,), (node.normal,)), node.jacobian

    def decode(self, code: Any, features: Any) -> Inexact[Array, " channels"]:
        value, slope, jacobian = features
        v, along_normal = jax.jvp(lambda f: self.network.decode(code, f), (value,), (slope,))
        # The unknown of a single layer is density times jacobian.
        return -jnp.concatenate([along_normal * jacobian, v])


class TimesJacobian(AbstractMadeOf):
    """A network that gives a density, where the unknown of the equation is density times jacobian.

    On a surface the jacobian jumps from patch to patch, which a network that sees positions could not follow.
    """

    @property
    def is_shared(self) -> bool:
        return False

    def features(self, node: Boundary) -> Any:
        return self.network.features(node), node.jacobian

    def decode(self, code: Any, features: Any) -> Inexact[Array, " channels"]:
        seen, jacobian = features
        return self.network.decode(code, seen) * jacobian


class Lit(AbstractMadeOf):
    """The trace of a plane wave times what the network gives: fast waves are known, what is left is slow."""

    wave: Fixed
    """The problem's representation and plane wave, with numbers or parameters' names in them."""

    def factor(self, nodes: Boundary, parameters: Mapping[str, Any]) -> Inexact[Array, " n"]:
        return trace_of(self.wave, nodes, parameters)


def trace_of(wave: Fixed, nodes: Boundary, parameters: Mapping[str, Any]) -> Inexact[Array, " n"]:
    """What a plane wave is at nodes but for a slow factor: e^{ik d·x}, times k where the density is a flux.

    `wave` holds a representation and a plane wave with numbers or parameters' names in them.
    """
    representation, plane = bind(wave.value, parameters)
    phase = jax.vmap(lambda x: plane.value(x, representation.kernel))(nodes.x)
    return representation.kernel.wavenumber * phase if representation.takes_slope else phase


class Superposed(AbstractMadeOf):
    """Σ_j g_j times the j-th answer of a network with many: linear in the parameters g, whatever the weights."""

    amounts: Superposition

    def encode(self, parameters: Mapping[str, Any]) -> tuple[Any, Float[Array, " j"]]:
        code = self.network.encode(parameters)
        return code, self.amounts(parameters, jax.tree_util.tree_leaves(code)[0].dtype)

    def decode(self, code: tuple[Any, Array], features: Any) -> Inexact[Array, " channels"]:
        return code[1] @ self.network.decode(code[0], features).reshape(len(code[1]), -1)

    def scalars(self, code: tuple[Any, Array]) -> Inexact[Array, " p"]:
        return code[1] @ self.network.scalars(code[0]).reshape(len(code[1]), -1)
