"""A preconditioner for equations on surfaces: what is smooth on each panel is solved for, what is rough divided by the diagonal."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from edgewise.quadrature import Duffy
from edgewise.solving.linear import Operator
from edgewise.special import gauss, interpolation, to_coefficients

# Polynomials with a third of the nodes' degrees of freedom along a side are smooth: their equation takes 1/729 of an elimination.
SMOOTH = 3


def two_level_preconditioner(rule: Duffy, matrix: Inexact[Array, "n n"]) -> Operator:
    """P (R A P)⁻¹ R + (1 - P R) / diagonal, where R keeps the low degrees on each panel and P puts them on the nodes.

    An equation of the second kind is a multiple of the identity but for a smooth part, which few degrees hold: half-balls at
    k = 2π take 23 to 25 applications to 1e-9 instead of some 40. And the rough errors of a guess cost no more than smooth ones.
    """
    n, few = rule.num_nodes, max(1, rule.num_nodes // SMOOTH)
    onto = np.polynomial.legendre.legvander(gauss(few)[0], few - 1) @ to_coefficients(n)[:few]
    restrict, prolong = (jnp.asarray(np.kron(part, part), matrix.real.dtype) for part in (onto, interpolation(few, n)))
    panels = matrix.shape[0] // n**2
    # As it lies in memory: a matrix may be as large as memory allows, and is not to be rearranged.
    columns = (matrix.reshape(-1, n**2) @ prolong).reshape(panels, n**2, -1)
    coarse = jnp.einsum("ct,itk->ick", restrict, columns)
    inverse = jnp.linalg.inv(coarse.reshape(panels * few**2, panels * few**2))
    diagonal = jnp.diagonal(matrix)

    def precondition(residual):
        smooth = residual.reshape(panels, -1) @ restrict.T
        rough = residual - (smooth @ prolong.T).reshape(-1)
        solved = (inverse @ smooth.reshape(-1)).reshape(panels, -1) @ prolong.T
        return (solved.reshape(-1) + rough / diagonal).astype(residual.dtype)

    return precondition
