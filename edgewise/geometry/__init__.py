"""Families: parameters in, boundary out."""

from edgewise.geometry.boundary import Boundary
from edgewise.geometry.corners import Airfoil, Polygon, Teardrop
from edgewise.geometry.curves import Curve, Ellipse, FourierCurve, Kite, StarCurve
from edgewise.geometry.family import AbstractCurve, AbstractFamily
from edgewise.geometry.parameters import Angle, Box, Direction
from edgewise.geometry.union import Union
from edgewise.geometry.wrappers import Rotate, Scale, Translate

__all__ = [
    "AbstractCurve",
    "AbstractFamily",
    "Airfoil",
    "Angle",
    "Boundary",
    "Box",
    "Curve",
    "Direction",
    "Ellipse",
    "FourierCurve",
    "Kite",
    "Polygon",
    "Rotate",
    "Scale",
    "StarCurve",
    "Teardrop",
    "Translate",
    "Union",
]
