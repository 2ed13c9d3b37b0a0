"""Fields from densities, and the equations for the densities."""

from edgewise.potentials.conditions import AbstractCondition, Dirichlet, Neumann, Robin
from edgewise.potentials.direct import Direct
from edgewise.potentials.indirect import DoubleLayer, SingleLayer
from edgewise.potentials.representation import AbstractRepresentation, Member, Side, Strengths

__all__ = [
    "AbstractCondition",
    "AbstractRepresentation",
    "Direct",
    "Dirichlet",
    "DoubleLayer",
    "Member",
    "Neumann",
    "Robin",
    "Side",
    "SingleLayer",
    "Strengths",
]
