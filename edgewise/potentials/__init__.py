"""Fields from densities, and the equations for the densities."""

from edgewise.potentials.boundary_values import BoundaryValues
from edgewise.potentials.combined import CombinedField
from edgewise.potentials.conditions import AbstractCondition, Clamped, Dirichlet, Neumann, Robin, Transmission
from edgewise.potentials.direct import Direct
from edgewise.potentials.indirect import DoubleLayer, SingleLayer
from edgewise.potentials.null_field import NullField
from edgewise.potentials.pair import LayerPair
from edgewise.potentials.representation import AbstractRepresentation, Member, Region
from edgewise.potentials.two_media import TwoMedia
from edgewise.potentials.waves import AbstractWave, PlaneWave, PointSource, UniformField
from edgewise.quadrature import Side, Strengths

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
    "Region",
    "Robin",
    "Side",
    "SingleLayer",
    "Strengths",
    "Transmission",
    "TwoMedia",
    "UniformField",
]
