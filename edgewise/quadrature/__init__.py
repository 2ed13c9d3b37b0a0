"""How an integral over a boundary is computed."""

from edgewise.quadrature.graded import Graded
from edgewise.quadrature.paper import MonteCarlo, Uniform
from edgewise.quadrature.periodic import Kress, Trapezoid
from edgewise.quadrature.rule import AbstractQuadrature, check_resolves
from edgewise.quadrature.surface import Duffy

__all__ = ["AbstractQuadrature", "Duffy", "Graded", "Kress", "MonteCarlo", "Trapezoid", "Uniform", "check_resolves"]
