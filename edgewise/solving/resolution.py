"""Whether the nodes were enough, and how a solve ended: what `solve` looks at before it trusts a member."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from edgewise.base.result import Code
from edgewise.potentials import Member, Strengths
from edgewise.quadrature import Duffy, Graded
from edgewise.solving.validation import Settings, rounding_of_integrals
from edgewise.special import tail, to_coefficients


def resolution_of(member: Member, strengths: Strengths) -> tuple[Array, Array]:
    """What the nodes leave out, relative to the data: of the density, and of kernels that are narrower than it.

    Also by how much the densities exceed the data, which a well-posed problem keeps within a few orders.
    """
    if isinstance(member.quadrature, Duffy):
        return _on_panels(member, strengths)
    size = jnp.max(jnp.abs(member.data))
    if member.condition.takes_flux:
        size = size * jnp.max(member.boundary.jacobian)
    curves = member.boundary.split()
    parts = [p.reshape(curves.s.shape) for p in (strengths.single, strengths.double) if p is not None]
    largest = jnp.stack([jnp.max(jnp.abs(part)) for part in parts]).max()
    growth = largest / jnp.where(size > 0, size, 1)
    scale = jnp.maximum(size, largest)
    scale = jnp.where(scale > 0, scale, 1)
    # Of a pair for an equation of fourth order, waves of number m change the gradient by m^-2 and m^-1 of their amplitude.
    half = member.quadrature.num_nodes / 2
    factors = (half**-2, half**-1) if member.condition.channels == 2 else (1.0, 1.0)
    missed = jnp.stack([f * jax.vmap(tail)(part) for f, part in zip(factors, parts, strict=False)]).max() / scale
    graded = isinstance(member.quadrature, Graded)
    if not graded and set(member.representation.layers(member.condition)) != {"single"}:
        defect = jnp.max(jax.vmap(member.quadrature.gauss_defect)(curves))
    else:
        # The logarithm is milder than Gauss's kernel by a factor 2/n; it hurts where there is a density to integrate. On
        # squares, wedges and airfoils this is the misfit on the boundary within a factor of three.
        defects = jax.vmap(lambda curve: member.quadrature.gauss_defect(curve, sampling=1))(curves)
        amounts = jnp.abs(parts[0] * curves.jacobian if strengths.single is None else parts[0])
        defects = defects * amounts[:, :: amounts.shape[1] // defects.shape[1]]
        defect = 2 / member.quadrature.num_nodes * jnp.max(defects) / scale
    # Kernels that decay within a few nodes are missed by e^{-6/(rate · step)}, measured for rate · step of 0.2 to 1.
    rate = jnp.asarray(member.representation.kernel.rate) * jnp.max(member.boundary.weight)
    narrow = jnp.where(rate > 0, jnp.exp(-6 / jnp.where(rate > 0, rate, 1)), 0)
    return jnp.maximum(jnp.maximum(missed, defect), narrow), growth


def _on_panels(member: Member, strengths: Strengths) -> tuple[Array, Array]:
    """On a surface: from the highest two degrees of each layer's polynomials, relative to its largest value.

    A thirtieth of them, which on spheres, tori, ellipsoids, half-balls and cuboids was the largest error of the field up to the
    boundary or more; far away it errs by much less.
    """
    n = member.quadrature.num_nodes
    transform = jnp.asarray(to_coefficients(n), member.boundary.x.dtype)
    high = np.maximum(*np.indices((n, n))) >= n - 2
    size = _positive(jnp.max(jnp.abs(member.data)))
    missed, growth = [], []
    for part in (strengths.single, strengths.double):
        if part is None:
            continue
        amounts = jnp.abs(jnp.einsum("ai,bj,pij->pab", transform, transform, part.reshape(-1, n, n)))
        missed.append(jnp.max(amounts[:, high]) / (30 * _positive(jnp.max(jnp.abs(part)))))
        growth.append(jnp.max(jnp.abs(part)) / size)
    return jnp.stack(missed).max(), jnp.stack(growth).max()


def _positive(value: Array) -> Array:
    return jnp.where(value > 0, value, 1)


def code_of(member: Member, resolution: Array, growth: Array, residual: Array, settings: Settings) -> Array:
    # Far from the origin the nodes themselves are rounded, and more of them do not help.
    x = member.boundary.x
    rounding = 64 * jnp.finfo(settings.dtype).eps * jnp.max(jnp.abs(x)) / jnp.max(jnp.abs(x - x.mean(axis=0)))
    # Equations of the first kind amplify rounding by the number of nodes, a pair of fourth order by its square.
    n = member.quadrature.num_nodes
    rounding = jnp.maximum(
        rounding, jnp.finfo(settings.dtype).eps * (2 * n**2 if member.condition.channels == 2 else 8 * n)
    )
    code = jnp.where(resolution <= jnp.maximum(settings.tol, rounding), Code.CONVERGED, Code.UNRESOLVED)
    code = jnp.where(residual <= settings.tol, code, Code.NO_CONVERGENCE)
    code = jnp.where(growth < 1e-4 / jnp.finfo(settings.dtype).eps, code, Code.SINGULAR)
    # What the data fail to balance by more than nodes can miss of them.
    missed = jnp.where(code == Code.CONVERGED, 0, 10 * resolution)
    unbalanced = member.imbalance > rounding_of_integrals(settings.dtype) + missed
    code = jnp.where(((code == Code.CONVERGED) | (code == Code.UNRESOLVED)) & unbalanced, Code.INCOMPATIBLE, code)
    finite = jnp.all(jnp.isfinite(member.data)) & jnp.all(jnp.isfinite(member.value_weight))
    return jnp.where(finite, code, Code.NOT_FINITE)
