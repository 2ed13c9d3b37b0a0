"""`Solution`: a density on a boundary, read anywhere."""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact

from edgewise.base.html import html
from edgewise.base.named import bind
from edgewise.base.points import as_points, check_lengths, check_side, one_array
from edgewise.base.precision import is_concrete
from edgewise.base.result import Code, Result
from edgewise.base.values import members_in_words
from edgewise.density import AbstractDensity
from edgewise.geometry import Boundary
from edgewise.potentials import AbstractWave, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import AbstractField, AbstractQuadrature, Quantity
from edgewise.quadrature.surfaces.field import on_sphere_of
from edgewise.solving.refinement import Factorisation, factorise, refine
from edgewise.solving.strengths import strengths_of
from edgewise.solving.validation import check_chunk
from edgewise.trust.error_field import circle
from edgewise.trust.estimate import ErrorEstimate, estimate
from edgewise.trust.misfit import fields_of_members, misfit, misfits_in_space


class Solution(eqx.Module):
    """The solution of one member, or of a batch of them.

    Call it with points of shape (..., d) for the field, and call `gradient` for the field's gradient. Both are correct
    up to the boundary and on it. Points on the wrong side are NaN. A batch has a length, gives its members by index and
    puts a member axis first.
    """

    problem: Problem
    parameters: dict[str, Array]
    density: AbstractDensity
    boundary: Boundary
    strengths: tuple[Strengths, ...]
    """One a region of the problem."""
    quadrature: AbstractQuadrature
    result: Result
    stats: dict[str, Any]
    batched: bool = eqx.field(static=True)
    """Whether every array has a leading member axis."""

    def __call__(
        self, points: Any, *others: Any, outside: Literal["nan", "error"] = "nan", chunk: int | None = None
    ) -> Inexact[Array, "..."]:
        """The field at points of shape (..., d).

        Arguments:
            outside: What becomes of points on the wrong side.
            chunk: How many points are looked at together: memory is that for so many times the nodes.
        """
        return self._read(one_array(points, others, "solution"), "potential", outside, chunk)

    def gradient(
        self, points: Any, *others: Any, outside: Literal["nan", "error"] = "nan", chunk: int | None = None
    ) -> Inexact[Array, "... d"]:
        """The gradient of the field at points of shape (..., d)."""
        return self._read(one_array(points, others, "solution.gradient"), "gradient", outside, chunk)

    @property
    def at_infinity(self) -> Array:
        """What an exterior field tends to: for Laplace the constant beside its total charge times G, for the biharmonic
        equation the coefficients of 1, x, y beside what grows more slowly."""
        kernel = self.problem.representation.kernel
        count = kernel.polynomials
        if self.problem.family.in_space and kernel.has_constants and self.problem.side != "interior":
            return jnp.zeros(self.boundary.x.shape[:-2] + kernel.value_shape[1:], self.boundary.x.dtype)
        if self.problem.side == "interior":
            raise AttributeError(
                'An interior solution has no behaviour at infinity; expected side "exterior" or "both".'
            )
        if not count:
            raise AttributeError(
                "Waves go to zero at infinity. Their amplitude there is `solution.far_field(directions)`."
            )
        polynomial = self.strengths[0].polynomial
        if not polynomial.shape[-1]:
            # Where two media meet no constant is free.
            return jnp.zeros(self.boundary.x.shape[:-2], self.boundary.x.dtype)
        return polynomial if count > 1 or kernel.value_shape else polynomial[..., 0]

    def incident(self, points: Any) -> Inexact[Array, "..."]:
        """The incident wave at points of shape (..., d).

        Where two media meet, it is 0 in the medium that the wave does not come from.
        """
        outside, inside = self._incident(points)
        return outside + inside

    def incident_outside(self, points: Any) -> Inexact[Array, "..."]:
        """What `total` adds to the solution: the incident wave, but 0 inside penetrable bodies, where it is whole."""
        return self._incident(points)[0]

    def total(
        self, points: Any, *, outside: Literal["nan", "error"] = "nan", chunk: int | None = None
    ) -> Inexact[Array, "..."]:
        """Incident plus scattered field at points of shape (..., d); inside a penetrable body the field there."""
        return self.incident_outside(points) + self(points, outside=outside, chunk=chunk)

    def charge(self) -> Inexact[Array, "... bodies"]:
        """The charge of every curve or body, for Laplace's equation.

        It is -∫ ∂u/∂n along the normal from the body into the domain. Outside, the field of a single body is
        charge · G and what decays faster. Inside, the charge of the outer curve is minus that of all holes.
        """
        kernel = self.problem.representation.kernel
        if not kernel.has_constants or kernel.value_shape:
            raise AttributeError(
                f"`charge` is for Laplace's equation, whose fields have one; the kernel is `{kernel.name}`. Flows have "
                "`force()`, waves `far_field(directions)`."
            )
        charges = self._integrals(lambda x, normal, single, double: single)
        if self.problem.side != "interior":
            return charges
        # Gauss: nothing outside of the domain has a flux through its outer curve, which holds the farthest node.
        holes = jnp.where(self._is_outer(), 0, charges)
        return holes - jnp.where(self._is_outer(), jnp.sum(holes, axis=-1, keepdims=True), 0)

    def dipole(self) -> Inexact[Array, "... d"]:
        """The dipole moment p of all bodies together, for Laplace's equation outside.

        The field outside is charge · G + p·x / (2π |x|²), in space charge · G + p·x / (4π |x|³), and smaller terms. In
        a uniform field of strength one, p is a column of the body's polarisability.
        """
        kernel = self.problem.representation.kernel
        if not kernel.has_constants or kernel.value_shape or self.problem.side == "interior":
            raise AttributeError(
                f"`dipole` is for Laplace's equation outside a body; this is `{kernel.name}` on side "
                f"{self.problem.side!r}."
            )
        moments = self._integrals(lambda x, normal, single, double: x * single[..., None] + normal * double[..., None])
        return jnp.sum(moments, axis=-2)

    def force(self) -> Float[Array, "... bodies d"]:
        """The force that the fluid exerts on every body, ∫ σn: of Stokes's equations outside, viscosity one."""
        self._check_flow("force")
        return -self._integrals(lambda x, normal, single, double: single.T)

    def torque(self, about: Any = None) -> Float[Array, "... bodies d"]:
        """The torque that the fluid exerts on every body, ∫ (x - about) × σn; in the plane one number a body.

        Arguments:
            about: A point, by default the origin.
        """
        self._check_flow("torque")
        dim = self.problem.family.dim
        centre = jnp.zeros(dim) if about is None else jnp.asarray(about)
        product = jnp.cross if self.problem.family.in_space else _cross_in_the_plane
        return -self._integrals(lambda x, normal, single, double: product(x - centre, single.T))

    def pressure(self, points: Any) -> Float[Array, "..."]:
        """The pressure of Stokes's equations at points of shape (..., d).

        Outside, the pressure vanishes at infinity. Inside, it is known up to a constant.
        """
        if not self.problem.representation.kernel.value_shape:
            raise AttributeError(
                f"`pressure` is for `Stokes(dim={self.problem.family.dim})`; the kernel is "
                f"`{self.problem.representation.kernel.name}`."
            )
        return self._read(points, "pressure", "nan", None)

    def far_field(self, directions: Any) -> Inexact[Array, "..."]:
        """The far field u_inf(x̂) for unit vectors x̂ of shape (..., d).

        Far away u ~ e^{ikr}/√r · u_inf(x̂), in space u ~ e^{ikr}/r · u_inf(x̂).
        """
        self._check_radiates("far_field")
        directions = self._points(directions, "directions")
        flat = directions.reshape(-1, directions.shape[-1])
        check_lengths(flat)
        value = self._fields()[0].far_of_members(flat)
        return value.reshape(*((self._members,) if self.batched else ()), *directions.shape[:-1])

    def cross_section(self) -> Float[Array, "..."]:
        """The scattering cross-section ∫ |u_inf|² over all directions."""
        self._check_radiates("cross_section")
        x = self.boundary.x
        bound: Any = bind(self.problem.representation.kernel, self.parameters)
        if self.problem.family.in_space:
            directions, weights = on_sphere_of(bound, x if self.batched else x[None])
            return jnp.abs(self.far_field(directions)) ** 2 @ jnp.asarray(weights, x.dtype)
        count, k = 4 * x.shape[-2], bound.wavenumber
        if is_concrete(x, k):
            # |u_inf|² has no faster waves in the angle than twice k times the diameter.
            size = np.max(np.linalg.norm(np.ptp(np.asarray(x), axis=-2), axis=-1))
            count = 128 + 4 * int(np.max(np.asarray(k)) * size)
        far = self.far_field(jnp.asarray(circle(count)))
        return 2 * np.pi * jnp.mean(jnp.abs(far) ** 2, axis=-1)

    def residual(self) -> Inexact[Array, "... m"]:
        """What the field misses of the boundary condition, at finer nodes than those of the solve.

        They are twice as many on a curve, and half as many again along a side on a surface.
        """
        if self.quadrature.is_dear:
            finer = self.quadrature.finer()
            rows = misfits_in_space(self.problem, finer, self._fields(), self._with_member_axis()[0])
            return jnp.stack(rows) if self.batched else rows[0]
        residual = _misfits(self.problem, self.quadrature, *self._with_member_axis())
        residual = residual if residual.shape[1] > 1 else residual[:, 0]
        return residual if self.batched else residual[0]

    def error_estimate(self, of: Literal["field", "far_field"] = "field") -> ErrorEstimate:
        """How wrong this solution is, judged from its misfit on the boundary.

        The misfit is computed on twice the nodes, on a surface on two more along a side. With Dirichlet data of
        Laplace's equation on curves, the result is a bound of the error anywhere in the domain. Elsewhere it is an
        estimate of the largest error: the misfit times the stability constant of this member, which is found by solving
        its equation.

        Arguments:
            of: "field", in the sup norm; or for waves outside "far_field", in the l2 norm over all directions.
        """
        found = estimate(self.problem, self.quadrature, *self._with_member_axis(), of)
        return found if self.batched else found[0]

    def refine(self, tol: float, *, neighbour: Factorisation | None = None) -> "Solution":
        """A better solution: GMRES on finer nodes, started from this density.

        The nodes are twice as many, on a surface half as many again along a side. Whether the density was learned or
        solved on too few nodes, the result is a solved one. `stats` says how many applications of the equation this
        took, and how many a start from zero takes.

        Arguments:
            tol: The relative residual of the equation on those nodes.
            neighbour: Another member's equation, inverted, as preconditioner: `other.factorise()`.
        """
        parts = refine(self.problem, self.quadrature, *self._with_member_axis(), tol, neighbour)
        solution = Solution(self.problem, self._with_member_axis()[0], *parts, batched=True)
        return solution if self.batched else solution[0]

    def factorise(self) -> Factorisation:
        """This member's equation on the nodes of `refine`, inverted: for members near it."""
        if self.batched:
            raise ValueError(
                f"A batch of {len(self)} members has no one factorisation; pick a member: `solution[0].factorise()`."
            )
        dtype = np.dtype(self.boundary.x.dtype)
        return factorise(self.problem, self.quadrature, self._with_member_axis()[0], dtype)

    def with_density(self, values: Any) -> "Solution":
        """The same solution with other values of the density at the nodes.

        It shows what an error in the density does to the field. The constants beside the density stay, except those
        that belong to it, such as the mean of an interior Neumann solution.
        """
        known: Any = self.density
        expected = f"expected finite numbers in the shape of `solution.density.values`, {known.values.shape}"
        if isinstance(values, AbstractDensity):
            raise TypeError(f"`values` is a density; {expected}. Write `solution.with_density(other.density.values)`.")
        try:
            values = jnp.asarray(values)
        except (TypeError, ValueError):
            raise TypeError(f"`values` is {values!r}; {expected}.") from None
        if jnp.iscomplexobj(values) and not jnp.iscomplexobj(known.values):
            raise TypeError(f"`values` is complex, and this density is real; {expected}.")
        values = values.astype(known.values.dtype)
        if values.shape != known.values.shape:
            raise ValueError(f"`values` has shape {values.shape}; {expected}.")
        if is_concrete(values) and not np.all(np.isfinite(np.asarray(values))):
            raise ValueError(f"`values` is not finite; {expected}.")
        batch = values if self.batched else values[None]
        strengths = strengths_of(self.problem, self.quadrature, *self._with_member_axis(), batch)
        density = self.quadrature.density(self.boundary, values)
        strengths = strengths if self.batched else jax.tree_util.tree_map(lambda leaf: leaf[0], strengths)
        # Nobody has solved for it.
        result = Result(jnp.full_like(self.result.code, Code.UNRESOLVED), jnp.zeros_like(self.result.needed))
        return dataclasses.replace(self, density=density, strengths=strengths, result=result)

    def __len__(self) -> int:
        if not self.batched:
            raise TypeError(
                "A solution of one member has no length; pass an array, `solve(problem, t=jnp.linspace(1, 2, 500))`."
            )
        return self.boundary.x.shape[0]

    def __bool__(self) -> bool:
        """Else it would be that of the length."""
        return True

    def __getitem__(self, index: int) -> "Solution":
        length = len(self)
        if not isinstance(index, int | np.integer):
            raise TypeError(f"A batch is indexed by one whole number, got {index!r}. Write `[batch[i] for i in ...]`.")
        if not -length <= index < length:
            raise IndexError(f"Member {index} of a batch of {length}: expected {-length} to {length - 1}.")

        def take(tree):
            return jax.tree_util.tree_map(lambda leaf: leaf[index], tree)

        rest = (self.boundary, self.strengths, self.quadrature, self.result, self.stats)
        return Solution(
            self.problem, take(self.parameters), self.density.member(index), *map(take, rest), batched=False
        )

    # By identity: `jax.jit(solution)` keeps what it compiled for this one, and arrays are not hashable.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        count = f" of {len(self)} members" if self.batched else ""
        where = members_in_words(self._ordered, self.batched)
        where = f"({where})" if where else ""
        return f"Solution{count}{where}: {self.result}; {self.boundary.x.shape[-2]} nodes"

    def _repr_html_(self) -> str:
        return html(self)

    @property
    def _ordered(self) -> dict[str, Array]:
        return self.problem.parameters.in_order(self.parameters)

    def _read(self, points: Any, quantity: Quantity, outside: str, chunk: int | None) -> Array:
        check_chunk(chunk)
        if outside not in ("nan", "error"):
            raise ValueError(f'`outside` must be "nan" or "error", got {outside!r}.')
        points = self._points(points)
        dim = points.shape[-1]
        flat = points.reshape(-1, dim)
        members = (len(self),) if self.batched else ()
        if flat.shape[0] == 0:
            shape = points.shape[:-1] + self.problem.representation.kernel.value_shape[1:]
            return jnp.zeros((*members, *shape, *((dim,) if quantity == "gradient" else ())), flat.dtype)
        value, right = self._of_regions(flat, quantity, chunk)
        if outside == "error" and is_concrete(right):
            check_side(flat, np.asarray(right), self.problem.side)
        shaped_right = right.reshape(*right.shape, *[1] * (value.ndim - right.ndim))
        # In both parts: a real NaN would leave the imaginary part of whatever is added as if it were an answer.
        nothing = complex(np.nan, np.nan) if jnp.iscomplexobj(value) else np.nan
        value = jnp.where(shaped_right, value, nothing)
        tail = points.shape[:-1] + value.shape[2:]
        return value.reshape(*members, *tail)

    def _of_regions(self, points: Array, quantity: Quantity, chunk: int | None) -> tuple[Array, Array]:
        """Values at points (m, d), each from the region that the point lies in, and whether there is such a region.

        Both have a first axis of members.
        """
        first, *others = self._fields()
        value, right = first.of_members(points, quantity, chunk)
        for field in others:
            inner, within = field.of_members(points, quantity, chunk)
            if isinstance(self.problem.data, AbstractWave):
                inner = inner + self._source_inside(points, quantity)
            shape = (*right.shape, *[1] * (value.ndim - right.ndim))
            value, right = jnp.where(right.reshape(shape), value, inner), right | within
        return value, right

    def _incident(self, points: Any) -> tuple[Inexact[Array, "..."], Inexact[Array, "..."]]:
        """The incident wave outside of penetrable bodies, and inside them; each 0 on the other side."""
        points = self._points(points)
        parameters, _ = self._with_member_axis()
        values = jax.vmap(lambda p: self.problem.incident_at(points, p), axis_size=self._members)(parameters)
        within = jnp.zeros_like(values)
        if self.problem.condition.jumps:
            flat = points.reshape(-1, points.shape[-1])
            outside = self._fields()[0].of_members(flat, "potential")[1].reshape(values.shape)
            comes_from_inside = self._sources_are_inside().reshape(-1, *[1] * (values.ndim - 1))
            within = jnp.where(outside, 0, self._source_inside(flat, "potential").reshape(values.shape))
            values = jnp.where(outside & ~comes_from_inside, values, 0)
        return (values, within) if self.batched else (values[0], within[0])

    def _sources_are_inside(self) -> Bool[Array, " b"]:
        """For each member, whether the incident wave comes from inside a body."""

        def one(boundary, parameters):
            return bind(self.problem.data, parameters).comes_from_inside(boundary)

        return jax.vmap(one)(self._with_axis(self.boundary), self._with_member_axis()[0])

    def _source_inside(self, points: Array, quantity: Quantity) -> Inexact[Array, "b m ..."]:
        """What a source inside a body adds to the field there; 0 for waves from outside."""

        def one(is_inside, parameters):
            region = bind(self.problem.representation, parameters).regions(self.problem.side)[1]
            wave: Any = bind(self.problem.data, parameters)
            function = wave.gradient if quantity == "gradient" else wave.value
            return jnp.where(is_inside, jax.vmap(lambda x: function(x, region.kernel))(points), 0)

        return jax.vmap(one)(self._sources_are_inside(), self._with_member_axis()[0])

    def _integrals(self, integrand: Any) -> Inexact[Array, "..."]:
        """The integrals of a function over every body, with a member axis in a batch.

        The function takes the position, the normal, and the densities of the single and double layers outside.
        """

        def one(boundary, strengths):
            layers = strengths[0]
            zero = jnp.zeros_like(boundary.jacobian)
            single = zero if layers.single is None else layers.single / boundary.jacobian
            double = zero if layers.double is None else layers.double
            values = integrand(boundary.x, boundary.normal, single, double)
            weighted = values * boundary.weight.reshape(-1, *[1] * (values.ndim - 1))
            body = jax.vmap(self.problem.family.body_at)(boundary.s)
            return jax.ops.segment_sum(weighted, body, num_segments=boundary.components)

        found = jax.vmap(one)(self._with_axis(self.boundary), self._with_member_axis()[1])
        return found if self.batched else found[0]

    def _is_outer(self) -> Bool[Array, "... bodies"]:
        """Which curve or body is the farthest from the origin somewhere: inside, the one that holds all others."""

        def one(boundary):
            body = jax.vmap(self.problem.family.body_at)(boundary.s)
            reach = jax.ops.segment_max(jnp.linalg.norm(boundary.x, axis=-1), body, num_segments=boundary.components)
            return jnp.arange(boundary.components) == jnp.argmax(reach)

        found = jax.vmap(one)(self._with_axis(self.boundary))
        return found if self.batched else found[0]

    def _check_flow(self, name: str) -> None:
        kernel = self.problem.representation.kernel
        if not kernel.value_shape or self.problem.side == "interior":
            raise AttributeError(
                f'`{name}` is for `Stokes(dim={kernel.dim})` on side "exterior"; this is `{kernel.name}` on side '
                f"{self.problem.side!r}."
            )

    def _points(self, points: Any, name: str = "points") -> Float[Array, "... d"]:
        return as_points(points, name, self.problem.family.dim, self.boundary.x.dtype)

    def _check_radiates(self, name: str) -> None:
        kernel = self.problem.representation.kernel
        if not kernel.radiates:
            raise AttributeError(
                f"`{name}` is for waves, which need `Helmholtz(dim={kernel.dim}, wavenumber=...)` with a real "
                f"wavenumber; the kernel is `{kernel.name}`."
            )
        if self.problem.side == "interior":
            raise AttributeError(f'`{name}` is for exterior fields; the problem is "interior".')

    @property
    def _members(self) -> int:
        return len(self) if self.batched else 1

    def _fields(self) -> tuple[AbstractField, ...]:
        """The fields of every member, one a region, with a member axis also for a single one."""
        return fields_of_members(self.problem, self.quadrature, *self._with_member_axis())

    def _with_axis(self, tree: Any) -> Any:
        return tree if self.batched else jax.tree_util.tree_map(lambda leaf: jnp.asarray(leaf)[None], tree)

    def _with_member_axis(self) -> tuple[dict[str, Array], tuple[Strengths, ...]]:
        return self._with_axis((self.parameters, self.strengths))


def _cross_in_the_plane(a: Array, b: Array) -> Array:
    """The vector product of two vectors of the plane, which is a number."""
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


@eqx.filter_jit
def _misfits(
    problem: Problem, quadrature: AbstractQuadrature, parameters: dict[str, Array], strengths: tuple[Strengths, ...]
) -> Array:
    def one(parts):
        parameters, strengths = parts
        fields = problem.fields(quadrature, parameters, strengths)
        boundary = quadrature.finer().place(problem.family, parameters, strengths[0].polynomial.real.dtype)
        return misfit(problem, fields, boundary, parameters)[0]

    return jax.lax.map(one, (parameters, strengths))
