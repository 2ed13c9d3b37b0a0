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
    Region,
    Side,
    Strengths,
)
from edgewise.quadrature import AbstractField, AbstractQuadrature
from edgewise.quadrature.discretisation import densities_of


class Problem(eqx.Module):
    """A parametric boundary value problem.

    Arguments:
        family: The boundaries, one for every value of the parameters.
        parameters: The `Box` of named parameters.
        representation: How the field is made from a density, and for which equation.
        data: What the condition prescribes: a function of one point `x` and, by name, of parameters and `normal`. Or an
            incident wave: the condition then holds, with zero, for the sum of the incident and the scattered field,
            and the solution is the scattered field. Or `BoundaryValues`, which are given at nodes.
        side: "interior", "exterior" or "both".
        condition: `Dirichlet()`, `Neumann()`, `Robin(coefficient)`, or for equations of fourth order `Clamped()`.
        exact: The true field as a function of `x` and named parameters, if known; never used to solve.
        at_infinity: For exterior problems of Laplace's equation in the plane: "bounded", or the total charge Q (a
            number or a parameter's name), for u ~ -Q log |x| / 2π + constant. The solve finds the constant, which is
            then `solution.at_infinity`. The paper also asks for u = O(1/|x|), which is too much in the plane: only
            special data allow it. Neumann data decide the charge themselves, so leave the argument out.

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
        self._check_names()
        self._check_representation()
        self._check_data()
        self._check_at_infinity(at_infinity)

    def _range_of(self, name: str) -> str:
        """What a box may have for a parameter that is missing; for messages."""
        if isinstance(self.data, PlaneWave) and name in names_in(self.data.direction):
            return f"ew.Direction({self.family.dim})" if self.family.in_space else "ew.Angle()"
        return "(0.0, 1.0)"

    def _check_names(self) -> None:
        """Refuses names that the parameters do not have."""
        known = set(self.parameters.names)
        for role, part, extra in (
            ("family", self.family, set()),
            ("representation", self.representation, set()),
            ("data", self.data, {"normal", "body"}),
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

    def _check_representation(self) -> None:
        """Refuses layers that do not suit the boundaries, the condition or the side."""
        kernel = self.representation.kernel
        if self.family.dim != kernel.dim:
            raise ValueError(
                f"`family` lives in dimension {self.family.dim}, the kernel in dimension {kernel.dim}; "
                f"they must agree. Write `{kernel.name}(dim={self.family.dim})`."
            )
        refusal = self.representation.refusal(self.condition, self.side)
        if refusal:
            given = (
                f"{type(self.representation).__name__} with {type(self.condition).__name__} data on side {self.side!r}"
            )
            raise ValueError(f"{given} cannot work: {refusal}.")
        bodies = len(self.family.bodies) if isinstance(self.family, AbstractSurface) else len(self.family.curves)
        several = bodies > 1
        if several and kernel.has_constants and not kernel.value_shape and isinstance(self.representation, DoubleLayer):
            parts = "bodies" if self.family.in_space else "curves"
            raise ValueError(
                f"DoubleLayer with `{kernel.name}` on several {parts} cannot work: every body or hole may carry a "
                "charge, which a double layer has not. Use `SingleLayer(kernel)`."
            )
        if kernel.order == 4 and any(curve.corners for curve in self.family.curves):
            raise ValueError(
                f"`{kernel.name}` on a curve with corners cannot work: its densities are too singular there. Round the "
                "corners, for instance with a `FourierCurve`."
            )

    def _check_data(self) -> None:
        """Refuses data that the condition or the layers cannot take."""
        layers, data = type(self.representation).__name__, type(self.data).__name__
        if isinstance(self.data, BoundaryValues) and (self.family.in_space or self.condition.channels == 2):
            where = "surfaces" if self.family.in_space else f"`{type(self.condition).__name__}()` data"
            raise ValueError(
                f"`data=BoundaryValues(...)` is for curves with one number a point, not for {where}. "
                "Write `data` as a function of `x`."
            )
        if self.representation.takes_slope and not isinstance(self.data, AbstractWave):
            raise ValueError(
                f"`{layers}` is for incident waves, and `data` is a function. Write `data=PlaneWave(direction)`, or "
                "use `CombinedField(kernel)`."
            )
        if self.representation.takes_slope and getattr(self.data, "has_source", False):
            raise ValueError(
                f"`{layers}` asks the whole field to vanish inside a body, which a `{data}` in it would not allow. "
                "Use `CombinedField(kernel)`."
            )
        # A wave needs to know no more of the parameters than their shapes.
        shapes = {name: jnp.zeros(spec.shape) for name, spec in self.parameters.specs}
        kernel = self.representation.kernel
        refusal = bind(self.data, shapes).refusal(kernel) if isinstance(self.data, AbstractWave) else None
        if refusal:
            raise ValueError(f"`data={data}(...)` cannot work: {refusal}.")

    def _check_at_infinity(self, at_infinity: Any) -> None:
        """Refuses a charge, as the caller wrote it, where none can be prescribed."""
        if self.at_infinity is None:
            return
        kernel = self.representation.kernel
        if self.family.in_space:
            raise ValueError(
                f"`at_infinity={at_infinity!r}` is for the plane; in space fields vanish at infinity, and their charge "
                "is the data's own. Leave it out."
            )
        if kernel.order != 2 or kernel.polynomials != 1:
            raise ValueError(
                f"`at_infinity={at_infinity!r}` prescribes a charge, which is for `Laplace`; the kernel is "
                f"`{kernel.name}`. Leave it out."
            )
        if self.side == "interior":
            raise ValueError(
                f'`at_infinity={at_infinity!r}` is for exterior problems, got side "interior". Leave it out.'
            )
        if not self.condition.takes_value:
            raise ValueError(
                f"`at_infinity={at_infinity!r}` was given with Neumann data, whose own integral decides the charge. "
                "Leave it out."
            )

    def member(
        self, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], dtype: Any, *, data: bool = True
    ) -> Member:
        """One member on the nodes of one rule.

        With `data=False` the boundary data are not computed. NaN stands in their place, so that nobody uses them
        unnoticed.
        """
        on = quadrature.discretise(self.family, parameters, dtype)
        boundary = on.boundary
        condition = bind(self.condition, parameters)
        charge = jnp.zeros((), dtype) if self.at_infinity is None else bind(self.at_infinity, parameters)
        value_weight = _in_precision(condition.value_weight(boundary, parameters), dtype)
        unknown = jnp.full_like(value_weight, jnp.nan)
        member = Member(
            on=on,
            condition=condition,
            side=self.side,
            value_weight=value_weight,
            data=unknown,
            slope=unknown if self.representation.takes_slope else None,
            representation=bind(self.representation, parameters),
            charge=_in_precision(jnp.asarray(charge), dtype),
            body=jax.vmap(self.family.body_at)(boundary.s),
        )
        return self.with_data(member, parameters) if data else member

    def fields(
        self, quadrature: AbstractQuadrature, parameters: Mapping[str, Array], strengths: tuple[Strengths, ...]
    ) -> tuple[AbstractField, ...]:
        """The fields of one member, one a region, of layers on the nodes of a rule."""
        dtype = densities_of(strengths)[0].real.dtype
        on = quadrature.discretise(self.family, parameters, dtype, fields=True)
        regions = bind(self.representation, parameters).regions(self.side)
        return tuple(
            on.field(region.kernel, region.side, part) for region, part in zip(regions, strengths, strict=True)
        )

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

        expected = (2,) if channels == 2 else self.representation.kernel.value_shape[:1]

        def one(x, normal, body):
            value = data(x, {**parameters, "normal": normal, "body": body})
            if isinstance(value, tuple | list):
                value = jnp.stack([jnp.asarray(part) for part in value])
            value = jnp.asarray(value)
            if value.shape != expected:
                words, example = self._expected_data()
                raise ValueError(
                    f"`data` returned shape {value.shape} for one point `x` of shape {x.shape}; expected {words}, "
                    f"{expected}. Write `data=lambda x{', normal' * (channels - 1)}: {example}` with `x[0]`, `x[1]` "
                    "the coordinates of one point."
                )
            return value.astype(complex_dtype(x.dtype) if jnp.iscomplexobj(value) else x.dtype)

        bodies = jax.vmap(self.family.body_at)(boundary.s)
        return jax.vmap(one, out_axes=-1)(boundary.x, boundary.normal, bodies)

    def _expected_data(self) -> tuple[str, str]:
        """What a data function returns, in words and as an example."""
        if self.condition.jumps:
            return "the jumps of u and ∂u/∂n, two numbers", "(outside(x) - inside(x), ...)"
        if self.condition.channels == 2:
            return "u and ∂u/∂n, two numbers", "(u(x), jax.grad(u)(x) @ normal)"
        if self.representation.kernel.value_shape:
            return "a velocity", "jnp.array([0.0, 0.0, 1.0])" if self.family.in_space else "jnp.array([1.0, 0.0])"
        return "one number", "..."

    def incident_at(self, points: Array, parameters: Mapping[str, Array]) -> Array:
        """The incident wave of one member at points (..., d), as it travels in the medium outside."""
        if not isinstance(self.data, AbstractWave):
            raise ValueError("This problem has no incident wave. Write `Problem(..., data=PlaneWave(direction))`.")
        wave, kernel = bind(self.data, parameters), self._regions(parameters)[0].kernel
        flat = jax.vmap(lambda x: wave.value(x, kernel))(points.reshape(-1, points.shape[-1]))
        return flat.reshape(points.shape[:-1])

    def _regions(self, parameters: Mapping[str, Array]) -> tuple[Region, ...]:
        return bind(self.representation, parameters).regions(self.side)

    def _wave_on(self, boundary: Boundary, parameters: Mapping[str, Array], value_weight: Array | None) -> Array:
        """What the scattered field must cancel."""
        wave, regions = bind(self.data, parameters), self._regions(parameters)
        condition = bind(self.condition, parameters)
        if value_weight is None:
            value_weight = condition.value_weight(boundary, parameters)
        value, slope = self._wave_traces(wave, regions[0], boundary)
        if not condition.jumps:
            rows = condition.rows(value_weight, [value] * condition.takes_value, [slope] * condition.takes_flux)
        else:
            # The wave comes through one of the media, and is missing from the jumps on the other side.
            inner, inner_slope = self._wave_traces(wave, regions[1], boundary)
            within = wave.comes_from_inside(boundary)
            values, slopes = (
                (jnp.where(within, 0, a), jnp.where(within, b, 0)) for a, b in ((value, inner), (slope, inner_slope))
            )
            rows = condition.rows(value_weight, [*values], [*slopes])
        rows = jnp.stack(rows) if condition.channels == 2 else rows[0]
        return _in_precision(-rows, boundary.x.dtype)

    def _wave_traces(self, wave: AbstractWave, region: Region, boundary: Boundary) -> tuple[Array, Array]:
        """The incident wave and its normal derivative at the nodes."""
        value = jax.vmap(lambda x: wave.value(x, region.kernel))(boundary.x)
        slope = jax.vmap(lambda x, n: wave.gradient(x, region.kernel) @ n)(boundary.x, boundary.normal)
        return value, slope

    def _wave_slope(self, boundary: Boundary, parameters: Mapping[str, Array]) -> Inexact[Array, " n"]:
        """∂/∂n of the incident wave."""
        wave, regions = bind(self.data, parameters), self._regions(parameters)
        return _in_precision(self._wave_traces(wave, regions[0], boundary)[1], boundary.x.dtype)

    def exact_at(self, points: Array, parameters: Mapping[str, Array]) -> Array:
        """The true field of one member at points (..., d)."""
        if self.exact is None:
            raise ValueError(
                "This problem has no `exact` field; expected one. Write `Problem(..., exact=lambda x: ...)`."
            )
        exact = self.exact
        flat = jax.vmap(lambda x: jnp.asarray(exact(x, parameters)))(points.reshape(-1, points.shape[-1]))
        return flat.reshape(*points.shape[:-1], *flat.shape[1:])

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
