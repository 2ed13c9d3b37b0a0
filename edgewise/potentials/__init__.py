"""Fields from densities, and the equations for the densities."""

from edgewise.potentials.boundary_values import BoundaryValues
from edgewise.potentials.combined import CombinedField
from edgewise.potentials.conditions import AbstractCondition, Clamped, Dirichlet, Neumann, Robin
from edgewise.potentials.direct import Direct
from edgewise.potentials.indirect import DoubleLayer, SingleLayer
from edgewise.potentials.null_field import NullField
from edgewise.potentials.pair import LayerPair
from edgewise.potentials.representation import AbstractRepresentation, Member, Side, Strengths
from edgewise.potentials.waves import AbstractWave, PlaneWave, PointSource

__all__ = [
    "AbstractCondition",
    "AbstractRepresentation",
    "AbstractWave",
    "BoundaryValues",
    "Clamped",
    "CombinedField",
    "Direct",
    "Dirichlet",
    "DoubleLayer",
    "LayerPair",
    "Member",
    "Neumann",
    "NullField",
    "PlaneWave",
    "PointSource",
    "Robin",
    "Side",
    "SingleLayer",
    "Strengths",
]
