"""How an integral over a boundary is computed."""

from edgewise.quadrature.graded import Graded
from edgewise.quadrature.paper import MonteCarlo, Uniform
from edgewise.quadrature.periodic import Kress, Trapezoid
from edgewise.quadrature.rule import AbstractQuadrature, check_resolves

__all__ = ["AbstractQuadrature", "Graded", "Kress", "MonteCarlo", "Trapezoid", "Uniform", "check_resolves"]
