"""Families: parameters in, boundary out."""

from edgewise.geometry.boundary import Boundary
from edgewise.geometry.corners import Airfoil, Polygon, Teardrop
from edgewise.geometry.curves import Curve, Ellipse, FourierCurve, Kite, StarCurve
from edgewise.geometry.edged import Cuboid, HalfBalls, Revolution
from edgewise.geometry.family import AbstractCurve, AbstractFamily, AbstractPlaneFamily
from edgewise.geometry.surface import AbstractSurface
from edgewise.geometry.surfaces import Ellipsoid, HarmonicSurface, Patch, Sphere, StarSurface, Surface, Torus
from edgewise.geometry.union import Union
from edgewise.geometry.wrappers import Rotate, Scale, Translate

__all__ = [
    "AbstractCurve",
    "AbstractFamily",
    "AbstractPlaneFamily",
    "AbstractSurface",
    "Airfoil",
    "Boundary",
    "Cuboid",
    "Curve",
    "Ellipse",
    "Ellipsoid",
    "FourierCurve",
    "HalfBalls",
    "HarmonicSurface",
    "Kite",
    "Patch",
    "Polygon",
    "Revolution",
    "Rotate",
    "Scale",
    "Sphere",
    "StarCurve",
    "StarSurface",
    "Surface",
    "Teardrop",
    "Torus",
    "Translate",
    "Union",
]
