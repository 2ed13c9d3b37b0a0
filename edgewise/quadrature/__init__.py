"""How an integral over a boundary is computed: rules, and what a rule makes of one member."""

from edgewise.quadrature.choice import rule_for, rungs
from edgewise.quadrature.curves.graded import Graded
from edgewise.quadrature.curves.periodic import Kress, Trapezoid
from edgewise.quadrature.discretisation import (
    AbstractDiscretisation,
    AbstractField,
    Preconditioner,
    Quantity,
    Resolution,
    Side,
    Strengths,
)
from edgewise.quadrature.paper import MonteCarlo, Uniform
from edgewise.quadrature.rule import AbstractQuadrature, check_resolves
from edgewise.quadrature.surfaces.rule import Duffy

__all__ = [
    "AbstractDiscretisation",
    "AbstractField",
    "AbstractQuadrature",
    "Duffy",
    "Graded",
    "Kress",
    "MonteCarlo",
    "Preconditioner",
    "Quantity",
    "Resolution",
    "Side",
    "Strengths",
    "Trapezoid",
    "Uniform",
    "check_resolves",
    "rule_for",
    "rungs",
]
