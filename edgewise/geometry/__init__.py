"""Families: parameters in, boundary out."""

from edgewise.geometry.boundary import Boundary
from edgewise.geometry.curves import Curve, Ellipse, FourierCurve, Kite, StarCurve
from edgewise.geometry.family import AbstractCurve, AbstractFamily
from edgewise.geometry.parameters import Angle, Box, Direction
from edgewise.geometry.union import Union
from edgewise.geometry.wrappers import Rotate, Scale, Translate

__all__ = [
    "AbstractCurve",
    "AbstractFamily",
    "Angle",
    "Boundary",
    "Box",
    "Curve",
    "Direction",
    "Ellipse",
    "FourierCurve",
    "Kite",
    "Rotate",
    "Scale",
    "StarCurve",
    "Translate",
    "Union",
]
