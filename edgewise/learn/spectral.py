"""Networks whose code of a member is the coefficients of harmonics along its boundary."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.geometry import Boundary
from edgewise.learn.inputs import AbstractSight
from edgewise.learn.networks import AbstractNetwork, Output


class AbstractSpectral(AbstractNetwork):
    """A code that is the coefficients of harmonics of the boundary coordinate, real numbers, and the scalars."""

    sight: eqx.AbstractVar[AbstractSight]
    output: eqx.AbstractVar[Output]

    @property
    def is_shared(self) -> bool:
        return self.sight.is_shared

    def features(self, node: Boundary) -> Float[Array, " f"]:
        return self.sight(node)

    def decode(self, code: tuple[Array, Array], features: Float[Array, " f"]) -> Inexact[Array, " channels"]:
        return self.output.values(code[0] @ features.astype(code[0].dtype))

    def scalars(self, code: tuple[Array, Array]) -> Inexact[Array, " p"]:
        return self.output.scalars(code[1])


def in_pieces(
    encode: Callable[[Mapping[str, Array], int], Any], members: Mapping[str, Array], count: int, size: int
) -> Any:
    """The codes of many members along a first axis, at most so many at a time.

    Arguments:
        encode: Takes members with such an axis, and how many they are.
    """
    if count <= size:
        return encode(members, count)
    # The last piece is filled up with the last member.
    pieces = -(-count // size)
    chosen = np.minimum(np.arange(pieces * size), count - 1).reshape(pieces, size)
    split = {name: value[chosen] for name, value in members.items()}
    codes = jax.lax.map(lambda piece: encode(piece, size), split)
    return jax.tree_util.tree_map(lambda code: code.reshape(pieces * size, *code.shape[2:])[:count], codes)
