"""`Problem`: a family, an equation and boundary data, checked when it is built."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact

from edgewise.base.html import html
from edgewise.base.named import Parameter, UserFunction, bind, names_in, number
from edgewise.base.parameters import Box
from edgewise.base.precision import complex_dtype
from edgewise.geometry import AbstractFamily, AbstractSurface, Boundary
from edgewise.potentials import (
    AbstractCondition,
    AbstractRepresentation,
    AbstractWave,
    BoundaryValues,
    Dirichlet,
    DoubleLayer,
    Member,
    PlaneWave,
    Side,
)
from edgewise.quadrature import AbstractQuadrature


class Problem(eqx.Module):
    """A parametric boundary value problem.

    Arguments:
        family: The boundaries, one for every value of the parameters.
        parameters: The `Box` of named parameters.
        representation: How the field is made from a density, and for which equation.
        data: Function of one point `x` and, by name, of parameters and `normal`; what the condition prescribes there. Or an
            incident wave: then the condition holds, with zero, for incident plus scattered field, and the solution is the
            scattered one. Or `BoundaryValues` at nodes.
        side: "interior", "exterior" or "both".
        condition: `Dirichlet()`, `Neumann()`, `Robin(coefficient)`, or for equations of fourth order `Clamped()`.
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
    data: UserFunction | AbstractWave | BoundaryValues
    side: Side = eqx.field(static=True)
    condition: AbstractCondition
    exact: UserFunction | None
    at_infinity: Any

    def __init__(
        self,
        family: AbstractFamily,
        parameters: Box | None,
        representation: AbstractRepresentation,
        data: Callable | AbstractWave | BoundaryValues,
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
        # What `dataclasses.replace` hands over has been through here before.
        is_known = isinstance(data, AbstractWave | BoundaryValues | UserFunction)
        self.data = data if is_known else UserFunction(data, "`data`", "x")
        self.exact = exact if isinstance(exact, UserFunction | None) else UserFunction(exact, "`exact`", "x")
        # Kept without a leaf when nothing is prescribed, so that a problem stays a tree of numbers.
        bounded = at_infinity is None or (isinstance(at_infinity, str) and at_infinity == "bounded")
        self.at_infinity = None if bounded else number(at_infinity)
        if not bounded and not isinstance(self.at_infinity, Parameter) and jnp.shape(self.at_infinity) != ():
            raise ValueError(
                f'`at_infinity` must be "bounded", one number or a parameter\'s name, got {at_infinity!r}. '
                "Write `at_infinity=1.0`."
            )
        self._check(at_infinity)

    def _range_of(self, name: str) -> str:
        """What a box may have for a parameter that is missing; for messages."""
        if isinstance(self.data, PlaneWave) and name in names_in(self.data.direction):
            return "ew.Angle()" if self.family.dim == 2 else f"ew.Direction({self.family.dim})"
        return "(0.0, 1.0)"

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
                ranges = [f"{name}={self._range_of(name)}" for name in missing]
                boxed = ", ".join([*self.parameters.arguments(), *ranges])
                raise ValueError(
                    f"`{role}` names {listed}, which the parameters do not have: "
                    f"they are {', '.join(f'`{n}`' for n in self.parameters.names) or 'none'}. "
                    f"Write `parameters=Box({boxed})`, with the range that you need, or rename the argument."
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
        kernel = self.representation.kernel
        bodies = len(self.family.bodies) if isinstance(self.family, AbstractSurface) else len(self.family.curves)
        several = bodies > 1
        if several and kernel.has_constants and isinstance(self.representation, DoubleLayer):
            raise ValueError(
                f"DoubleLayer with `{kernel.name}` on several {'curves' if kernel.dim == 2 else 'bodies'} cannot work: every body or hole may carry a charge, which a "
                "double layer has not. Use `SingleLayer(kernel)`."
            )
        if kernel.order == 4 and any(curve.corners for curve in self.family.curves):
            raise ValueError(
                f"`{kernel.name}` on a curve with corners cannot work: its densities are too singular there. Round the corners, "
                "for instance with a `FourierCurve`."
            )
        if isinstance(self.data, BoundaryValues) and (self.family.dim == 3 or self.condition.channels == 2):
            where = "surfaces" if self.family.dim == 3 else f"`{type(self.condition).__name__}()` data"
            raise ValueError(
                f"`data=BoundaryValues(...)` is for curves with one number a point, not for {where}. Write `data` as a function of `x`."
            )
        if self.representation.takes_slope and not isinstance(self.data, AbstractWave):
            raise ValueError(
                f"`{type(self.representation).__name__}` is for incident waves, and `data` is a function. Write `data=PlaneWave(direction)`, "
                "or use `CombinedField(kernel)`."
            )
        if self.representation.takes_slope and getattr(self.data, "has_source", False):
            raise ValueError(
                f"`{type(self.representation).__name__}` asks the whole field to vanish inside a body, which a `{type(self.data).__name__}` in it "
                "would not allow. Use `CombinedField(kernel)`."
            )
        # Of parameters, a wave needs to know the shapes alone.
        shapes = {name: jnp.zeros(spec.shape) for name, spec in self.parameters.specs}
        refusal = bind(self.data, shapes).refusal(kernel) if isinstance(self.data, AbstractWave) else None
        if refusal:
            raise ValueError(f"`data={type(self.data).__name__}(...)` cannot work: {refusal}.")
        if self.at_infinity is not None and kernel.dim == 3:
            raise ValueError(
                f"`at_infinity={at_infinity!r}` is for the plane; in space fields vanish at infinity, and their charge is the data's "
                "own. Leave it out."
            )
        if self.at_infinity is not None and (kernel.order != 2 or kernel.polynomials != 1):
            raise ValueError(
                f"`at_infinity={at_infinity!r}` prescribes a charge, which is for `Laplace`; the kernel is `{kernel.name}`. "
                "Leave it out."
            )
        if self.at_infinity is not None and self.side == "interior":
            raise ValueError(
                f'`at_infinity={at_infinity!r}` is for exterior problems, got side "interior". Leave it out.'
            )
        if self.at_infinity is not None and not self.condition.takes_value:
            raise ValueError(
                f"`at_infinity={at_infinity!r}` was given with Neumann data, whose own integral decides the charge. Leave it out."
            )

    def member(
        self, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], dtype: Any, *, data: bool = True
    ) -> Member:
        """One member on the nodes of one rule.

        With `data=False` the boundary data are not looked at: NaN stands in their place, so that nobody reads them unseen.
        """
        boundary = quadrature.place(self.family, parameters, dtype)
        condition = bind(self.condition, parameters)
        charge = jnp.zeros((), dtype) if self.at_infinity is None else bind(self.at_infinity, parameters)
        value_weight = _in_precision(condition.value_weight(boundary, parameters), dtype)
        unknown = jnp.full_like(value_weight, jnp.nan)
        member = Member(
            boundary=boundary,
            quadrature=quadrature,
            condition=condition,
            side=self.side,
            value_weight=value_weight,
            data=unknown,
            slope=unknown if self.representation.takes_slope else None,
            representation=bind(self.representation, parameters),
            charge=_in_precision(jnp.asarray(charge), dtype),
            sources=quadrature.source(self.family, parameters, dtype)
            if boundary.components > 1 or self.family.dim == 3
            else None,
        )
        return self.with_data(member, parameters) if data else member

    def with_data(self, member: Member, parameters: Mapping[str, Array]) -> Member:
        """The member with the data of these parameters."""
        data = self.data_on(member.boundary, parameters, member.value_weight)
        slope = -self._wave_slope(member.boundary, parameters) if member.slope is not None else None
        return dataclasses.replace(member, data=data, slope=slope)

    def data_on(
        self, boundary: Boundary, parameters: Mapping[str, Array], value_weight: Array | None = None
    ) -> Inexact[Array, "... n"]:
        """The data at the nodes; where the condition has two channels, two rows."""
        channels = self.condition.channels
        if isinstance(self.data, AbstractWave):
            return self._wave_on(boundary, parameters, value_weight)
        data = self.data
        if isinstance(data, BoundaryValues):
            return _in_precision(bind(data, parameters).on(boundary), boundary.x.dtype)

        def one(x, normal):
            value = data(x, {**parameters, "normal": normal})
            if isinstance(value, tuple | list):
                value = jnp.stack([jnp.asarray(part) for part in value])
            value = jnp.asarray(value)
            if value.shape != (() if channels == 1 else (2,)):
                expected = "one number, ()" if channels == 1 else "u and ∂u/∂n, two numbers, (2,)"
                example = "..." if channels == 1 else "(u(x), jax.grad(u)(x) @ normal)"
                raise ValueError(
                    f"`data` returned shape {value.shape} for one point `x` of shape {x.shape}; expected {expected}. "
                    f"Write `data=lambda x{', normal' * (channels - 1)}: {example}` with `x[0]`, `x[1]` the coordinates of one point."
                )
            return value.astype(complex_dtype(x.dtype) if jnp.iscomplexobj(value) else x.dtype)

        return jax.vmap(one, out_axes=-1)(boundary.x, boundary.normal)

    def incident_at(self, points: Array, parameters: Mapping[str, Array]) -> Array:
        """The incident wave of one member at points (..., d)."""
        if not isinstance(self.data, AbstractWave):
            raise ValueError("This problem has no incident wave. Write `Problem(..., data=PlaneWave(direction))`.")
        wave, kernel = bind(self.data, parameters), bind(self.representation.kernel, parameters)
        flat = jax.vmap(lambda x: wave.value(x, kernel))(points.reshape(-1, points.shape[-1]))
        return flat.reshape(points.shape[:-1])

    def _wave_on(self, boundary: Boundary, parameters: Mapping[str, Array], value_weight: Array | None) -> Array:
        """What the scattered field must cancel."""
        wave, kernel = bind(self.data, parameters), bind(self.representation.kernel, parameters)
        value = jax.vmap(lambda x: wave.value(x, kernel))(boundary.x)
        slope = self._wave_slope(boundary, parameters)
        if self.condition.channels == 2:
            data = -jnp.stack([value, slope])
        else:
            if value_weight is None:
                value_weight = bind(self.condition, parameters).value_weight(boundary, parameters)
            data = -(value_weight * value + (slope if self.condition.takes_flux else 0))
        return _in_precision(data, boundary.x.dtype)

    def _wave_slope(self, boundary: Boundary, parameters: Mapping[str, Array]) -> Inexact[Array, " n"]:
        """∂/∂n of the incident wave."""
        wave, kernel = bind(self.data, parameters), bind(self.representation.kernel, parameters)
        slope = jax.vmap(lambda x, n: wave.gradient(x, kernel) @ n)(boundary.x, boundary.normal)
        return _in_precision(slope, boundary.x.dtype)

    def exact_at(self, points: Array, parameters: Mapping[str, Array]) -> Array:
        """The true field of one member at points (..., d)."""
        if self.exact is None:
            raise ValueError(
                "This problem has no `exact` field; expected one. Write `Problem(..., exact=lambda x: ...)`."
            )
        exact = self.exact
        flat = jax.vmap(lambda x: exact(x, parameters))(points.reshape(-1, points.shape[-1]))
        return flat.reshape(points.shape[:-1])

    def __repr__(self) -> str:
        words = f"{self.representation.kernel.name}, {type(self.condition).__name__}, {self.side}"
        return f"Problem({words}, on {type(self.family).__name__}; {self.parameters.in_words()})"

    def _repr_html_(self) -> str:
        return html(self)

    def in_words(self) -> list[tuple[str, str]]:
        """What it is, line by line; for notebooks."""
        of_data = ""
        if isinstance(self.data, AbstractWave):
            of_data = f" of a {self.data.in_words()}"
        elif isinstance(self.data, BoundaryValues):
            of_data = ", values at nodes"
        return [
            ("equation", self.representation.kernel.in_words()),
            ("side", f"{self.side}, of {type(self.family).__name__}"),
            ("data", f"{type(self.condition).__name__}{of_data}"),
            ("layers", type(self.representation).__name__),
            ("parameters", self.parameters.in_words()),
        ]


def _in_precision(values: Array, dtype: Any) -> Array:
    """The values in this real precision, complex where they were."""
    return values.astype(complex_dtype(dtype) if jnp.iscomplexobj(values) else dtype)


def _instance(role: str, value: Any, kind: type, example: str) -> Any:
    if not isinstance(value, kind):
        expected = kind.__name__.removeprefix("Abstract").lower()
        raise TypeError(f"`{role}` must be a {expected}, got {value!r}. Write `{role}={example}`.")
    return value
