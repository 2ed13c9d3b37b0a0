"""`Problem`: a family, an equation and boundary data, checked when it is built."""

from collections.abc import Callable, Mapping
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact

from edgewise.geometry import AbstractFamily, Boundary, Box
from edgewise.geometry.parameters import Parameter, UserFunction, bind, names_in, number
from edgewise.potentials import AbstractCondition, AbstractRepresentation, Dirichlet, Member, Side
from edgewise.precision import complex_dtype
from edgewise.quadrature import AbstractQuadrature


class Problem(eqx.Module):
    """A parametric boundary value problem.

    Arguments:
        family: The boundaries, one for every value of the parameters.
        parameters: The `Box` of named parameters.
        representation: How the field is made from a density, and for which equation.
        data: Function of one point `x` and, by name, of parameters and `normal`; what the condition prescribes there.
        side: "interior", "exterior" or "both".
        condition: `Dirichlet()`, `Neumann()` or `Robin(coefficient)`.
        exact: The true field as a function of `x` and named parameters, if known; never used to solve.
        at_infinity: For exterior problems of Laplace: "bounded", or the total charge Q (a number or a parameter's name), for
            u ~ -Q log |x| / 2π + constant. The constant comes out as `solution.at_infinity`. To ask for u = O(1/|x|)
            too, as the paper does, is to ask too much in the plane: only special data allow it. For Neumann data the charge
            is the data's own and nothing is to be said.

    >>> import jax.numpy as jnp
    >>> import edgewise as ew
    >>> problem = ew.Problem(
    ...     family=ew.StarCurve(lambda s, t: 1 + 0.1 * t * jnp.cos(3 * s)),
    ...     parameters=ew.Box(t=(1.0, 2.0)),
    ...     representation=ew.SingleLayer(ew.Laplace(dim=2)),
    ...     data=lambda x: jnp.exp(x[0]) * jnp.sin(x[1]),
    ...     side="interior",
    ... )
    """

    family: AbstractFamily
    parameters: Box
    representation: AbstractRepresentation
    data: UserFunction
    side: Side = eqx.field(static=True)
    condition: AbstractCondition
    exact: UserFunction | None
    at_infinity: Any

    def __init__(
        self,
        family: AbstractFamily,
        parameters: Box | None,
        representation: AbstractRepresentation,
        data: Callable,
        side: Side,
        condition: AbstractCondition | None = None,
        exact: Callable | None = None,
        at_infinity: Any = "bounded",
    ):
        self.family = _instance("family", family, AbstractFamily, "StarCurve(lambda s, t: ...)")
        self.parameters = _instance("parameters", Box() if parameters is None else parameters, Box, "Box(t=(1.0, 2.0))")
        self.representation = _instance(
            "representation", representation, AbstractRepresentation, "SingleLayer(Laplace(dim=2))"
        )
        self.condition = _instance("condition", condition or Dirichlet(), AbstractCondition, "Dirichlet()")
        if side not in get_args(Side):
            raise ValueError(f'`side` must be "interior", "exterior" or "both", got {side!r}. Write `side="interior"`.')
        self.side = side
        self.data = UserFunction(data, "`data`", "x")
        self.exact = None if exact is None else UserFunction(exact, "`exact`", "x")
        # Kept without a leaf when nothing is prescribed, so that a problem stays a tree of numbers.
        bounded = isinstance(at_infinity, str) and at_infinity == "bounded"
        self.at_infinity = None if bounded else number(at_infinity)
        if not bounded and not isinstance(self.at_infinity, Parameter) and jnp.shape(self.at_infinity) != ():
            raise ValueError(
                f'`at_infinity` must be "bounded", one number or a parameter\'s name, got {at_infinity!r}. '
                "Write `at_infinity=1.0`."
            )
        self._check(at_infinity)

    def _check(self, at_infinity: Any) -> None:
        known = set(self.parameters.names)
        for role, part, extra in (
            ("family", self.family, set()),
            ("representation", self.representation, set()),
            ("data", self.data, {"normal"}),
            ("condition", self.condition, set()),
            ("exact", self.exact, set()),
            ("at_infinity", self.at_infinity, set()),
        ):
            missing = sorted(names_in(part) - known - extra)
            if missing:
                listed = ", ".join(f"`{name}`" for name in missing)
                boxed = ", ".join([*self.parameters.names, *(f"{name}=(low, high)" for name in missing)])
                raise ValueError(
                    f"`{role}` names {listed}, which the parameters do not have: "
                    f"they are {', '.join(f'`{n}`' for n in self.parameters.names) or 'none'}. "
                    f"Write `parameters=Box({boxed})`, or rename the argument."
                )
        if self.family.dim != self.representation.kernel.dim:
            raise ValueError(
                f"`family` lives in dimension {self.family.dim}, the kernel in dimension {self.representation.kernel.dim}; "
                f"they must agree. Write `{self.representation.kernel.name}(dim={self.family.dim})`."
            )
        refusal = self.representation.refusal(self.condition, self.side)
        if refusal:
            given = (
                f"{type(self.representation).__name__} with {type(self.condition).__name__} data on side {self.side!r}"
            )
            raise ValueError(f"{given} cannot work: {refusal}.")
        if self.at_infinity is not None and self.side == "interior":
            raise ValueError(
                f'`at_infinity={at_infinity!r}` is for exterior problems, got side "interior". Leave it out.'
            )
        if self.at_infinity is not None and not self.condition.takes_value:
            raise ValueError(
                f"`at_infinity={at_infinity!r}` was given with Neumann data, whose own integral decides the charge. Leave it out."
            )

    def member(self, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], dtype: Any) -> Member:
        """One member on the nodes of one rule."""
        boundary = quadrature.place(self.family, parameters, dtype)
        condition = bind(self.condition, parameters)
        charge = jnp.zeros((), dtype) if self.at_infinity is None else bind(self.at_infinity, parameters)
        return Member(
            boundary=boundary,
            quadrature=quadrature,
            condition=condition,
            side=self.side,
            value_weight=_in_precision(condition.value_weight(boundary, parameters), dtype),
            data=self.data_on(boundary, parameters),
            representation=bind(self.representation, parameters),
            charge=_in_precision(jnp.asarray(charge), dtype),
        )

    def data_on(self, boundary: Boundary, parameters: Mapping[str, Array]) -> Inexact[Array, " n"]:
        """The data at the nodes."""

        def one(x, normal):
            value = jnp.asarray(self.data(x, {**parameters, "normal": normal}))
            if value.shape != ():
                raise ValueError(
                    f"`data` returned shape {value.shape} for one point `x` of shape {x.shape}; expected one number, (). "
                    "Write `data=lambda x: ...` with `x[0]`, `x[1]` the coordinates of one point."
                )
            return value.astype(jnp.result_type(value, x.dtype))

        return jax.vmap(one)(boundary.x, boundary.normal)

    def exact_at(self, points: Array, parameters: Mapping[str, Array]) -> Array:
        """The true field of one member at points (..., d)."""
        if self.exact is None:
            raise ValueError(
                "This problem has no `exact` field; expected one. Write `Problem(..., exact=lambda x: ...)`."
            )
        exact = self.exact
        flat = jax.vmap(lambda x: exact(x, parameters))(points.reshape(-1, points.shape[-1]))
        return flat.reshape(points.shape[:-1])


def _in_precision(values: Array, dtype: Any) -> Array:
    """The values in this real precision, complex where they were."""
    return values.astype(complex_dtype(dtype) if jnp.iscomplexobj(values) else dtype)


def _instance(role: str, value: Any, kind: type, example: str) -> Any:
    if not isinstance(value, kind):
        expected = kind.__name__.removeprefix("Abstract").lower()
        raise TypeError(f"`{role}` must be a {expected}, got {value!r}. Write `{role}={example}`.")
    return value
