"""`Solution`: a density on a boundary, read anywhere."""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from edgewise.base.html import html
from edgewise.base.named import bind
from edgewise.base.points import as_points, check_lengths, check_side, one_array
from edgewise.base.precision import is_concrete
from edgewise.base.ranges import members_in_words
from edgewise.base.result import Code, Result
from edgewise.density import AbstractDensity, NodalDensity, PanelDensity
from edgewise.geometry import Boundary
from edgewise.kernels import Helmholtz
from edgewise.potentials import Strengths
from edgewise.potentials.evaluate import Field, Quantity, evaluate, far_field
from edgewise.potentials.far_space import far_in_space
from edgewise.potentials.surface_field import SurfaceField, evaluate_space, on_sphere_of
from edgewise.problem import Problem
from edgewise.quadrature import AbstractQuadrature, Duffy, Graded
from edgewise.solving.refinement import Factorisation, factorise, refine
from edgewise.solving.strengths import strengths_of
from edgewise.solving.systems import finer_rule
from edgewise.solving.validation import check_chunk
from edgewise.trust.error_field import circle
from edgewise.trust.estimate import ErrorEstimate, estimate
from edgewise.trust.misfit import field_of, fields_in_space, misfit, misfits_in_space


class Solution(eqx.Module):
    """The solution of one member, or of a batch of them.

    Call it with points of shape (..., d) for the field, `gradient` for its gradient: correct up to the boundary and on it.
    Points on the wrong side are NaN. A batch has a length, gives its members by index and puts a member axis first.
    """

    problem: Problem
    parameters: dict[str, Array]
    density: AbstractDensity
    boundary: Boundary
    strengths: Strengths
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
        if kernel.dim == 3 and kernel.has_constants and self.problem.side != "interior":
            return jnp.zeros(self.boundary.x.shape[:-2], self.boundary.x.dtype)
        if self.problem.side == "interior":
            raise AttributeError(
                'An interior solution has no behaviour at infinity; expected side "exterior" or "both".'
            )
        if not count:
            raise AttributeError(
                "Waves go to zero at infinity. Their amplitude there is `solution.far_field(directions)`."
            )
        return self.strengths.polynomial[..., 0] if count == 1 else self.strengths.polynomial

    def incident(self, points: Any) -> Inexact[Array, "..."]:
        """The incident wave at points of shape (..., d), the scattered field of which this solution is."""
        points = self._points(points)
        parameters, _ = self._with_member_axis()
        values = jax.vmap(lambda p: self.problem.incident_at(points, p), axis_size=self._members)(parameters)
        return values if self.batched else values[0]

    def total(
        self, points: Any, *, outside: Literal["nan", "error"] = "nan", chunk: int | None = None
    ) -> Inexact[Array, "..."]:
        """Incident plus scattered field at points of shape (..., d)."""
        return self.incident(points) + self(points, outside=outside, chunk=chunk)

    def far_field(self, directions: Any) -> Inexact[Array, "..."]:
        """u_inf with u ~ e^{ikr}/√r · u_inf(x̂), in space e^{ikr}/r · u_inf(x̂), for unit vectors x̂ of shape (..., d)."""
        self._check_radiates("far_field")
        directions = self._points(directions, "directions")
        flat = directions.reshape(-1, directions.shape[-1])
        check_lengths(flat)
        value = self._far_in_space(flat) if self.problem.family.dim == 3 else far_field(self._fields(), flat)
        return value.reshape(*((self._members,) if self.batched else ()), *directions.shape[:-1])

    def cross_section(self) -> Float[Array, "..."]:
        """The scattering cross-section ∫ |u_inf|² over all directions."""
        self._check_radiates("cross_section")
        x = self.boundary.x
        bound: Any = bind(self.problem.representation.kernel, self.parameters)
        if self.problem.family.dim == 3:
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
        """What the boundary condition misses, at nodes twice as fine as those of the solve, on a surface half as fine again."""
        if isinstance(self.quadrature, Duffy):
            rows = misfits_in_space(self.problem, self.quadrature, self._fields(), self._with_member_axis()[0])
            return jnp.stack(rows) if self.batched else rows[0]
        residual = _misfits(self.problem, self.quadrature, *self._with_member_axis())
        residual = residual if self.problem.condition.channels == 2 else residual[:, 0]
        return residual if self.batched else residual[0]

    def error_estimate(self, of: Literal["field", "far_field"] = "field") -> ErrorEstimate:
        """How wrong this solution is, from its misfit on the boundary, on twice the nodes; on a surface on two more along a side.

        For Dirichlet data of Laplace's equation on curves a bound of the error anywhere in the domain. Elsewhere an estimate of the
        largest error: the misfit times the stability constant of this member, for which its equation is solved.

        Arguments:
            of: "field", in the sup norm; or for waves outside "far_field", in the l2 norm over all directions.
        """
        found = estimate(self.problem, self.quadrature, *self._with_member_axis(), of)
        return found if self.batched else found[0]

    def refine(self, tol: float, *, neighbour: Factorisation | None = None) -> "Solution":
        """A better solution: GMRES on twice the nodes (on a surface half as many again along a side), started from this density.

        Whatever the density is, learned or solved on too few nodes, the result is a solved one. `stats` has the applications of
        the equation that it took and those that a start from zero takes.

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
        """The same solution with other values of the density at the nodes: to see what an error in it does to the field.

        The constants beside it stay, or are those that go with the density: the mean of an interior Neumann solution.
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
        if isinstance(known, PanelDensity):
            density = eqx.tree_at(lambda d: d.values, known, values)
        else:
            graded = isinstance(self.quadrature, Graded)
            density = NodalDensity(known.s, values, self.boundary.components, graded)  # pyright: ignore
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
            return jnp.zeros((*members, *points.shape[: -1 if quantity == "potential" else None]), flat.dtype)
        fields = self._fields()
        read = evaluate_space if isinstance(fields, SurfaceField) else evaluate
        value, right = read(fields, flat, quantity, chunk)  # pyright: ignore[reportArgumentType]
        if outside == "error" and is_concrete(right):
            check_side(flat, np.asarray(right), self.problem.side)
        shaped_right = right if quantity == "potential" else right[..., None]
        # In both parts: a real NaN would leave the imaginary part of whatever is added as if it were an answer.
        nothing = complex(np.nan, np.nan) if jnp.iscomplexobj(value) else np.nan
        value = jnp.where(shaped_right, value, nothing)
        tail = points.shape[:-1] + value.shape[2:]
        return value.reshape(*members, *tail)

    def _points(self, points: Any, name: str = "points") -> Float[Array, "... d"]:
        return as_points(points, name, self.problem.family.dim, self.boundary.x.dtype)

    def _check_radiates(self, name: str) -> None:
        kernel = self.problem.representation.kernel
        if not isinstance(kernel, Helmholtz) or jnp.iscomplexobj(getattr(kernel.wavenumber, "name", kernel.wavenumber)):
            raise AttributeError(
                f"`{name}` is for waves, which need `Helmholtz(dim={kernel.dim}, wavenumber=...)` with a real wavenumber; the kernel is "
                f"`{kernel.name}`."
            )
        if self.problem.side == "interior":
            raise AttributeError(f'`{name}` is for exterior fields; the problem is "interior".')

    @property
    def _members(self) -> int:
        return len(self) if self.batched else 1

    def _far_in_space(self, directions: Array) -> Inexact[Array, "b m"]:
        parameters, strengths = self._with_member_axis()
        boundary = self.boundary if self.batched else jax.tree_util.tree_map(lambda leaf: leaf[None], self.boundary)
        kernels = jax.vmap(lambda p: bind(self.problem.representation.kernel, p), axis_size=self._members)(parameters)
        return far_in_space(kernels, boundary, strengths, directions)

    def _fields(self) -> Field | SurfaceField:
        """The layers of every member, with a member axis also for a single one."""
        return _fields(self.problem, self.quadrature, *self._with_member_axis())

    def _with_member_axis(self) -> tuple[dict[str, Array], Strengths]:
        parts = (self.parameters, self.strengths)
        return parts if self.batched else jax.tree_util.tree_map(lambda leaf: jnp.asarray(leaf)[None], parts)


@eqx.filter_jit
def _fields(
    problem: Problem, quadrature: AbstractQuadrature, parameters: dict[str, Array], strengths: Strengths
) -> Field | SurfaceField:
    if isinstance(quadrature, Duffy):
        return fields_in_space(problem, quadrature, parameters, strengths)
    return jax.vmap(lambda p, s: field_of(problem, quadrature, p, s))(parameters, strengths)


@eqx.filter_jit
def _misfits(
    problem: Problem, quadrature: AbstractQuadrature, parameters: dict[str, Array], strengths: Strengths
) -> Array:
    def one(parts):
        field = field_of(problem, quadrature, *parts)
        boundary = finer_rule(quadrature).place(problem.family, parts[0], field.layers.source.x.dtype)
        return misfit(problem, field, boundary, parts[0])[0]

    return jax.lax.map(one, (parameters, strengths))
