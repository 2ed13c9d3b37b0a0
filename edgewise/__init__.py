"""Edgewise: boundary value problems, solved and learned on the boundary alone.

Names are imported when they are first used, so that the command line answers before JAX is loaded.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from edgewise import precision as precision
    from edgewise import testing as testing
    from edgewise.export import to_xarray as to_xarray
    from edgewise.export import write as write
    from edgewise.geometry import Airfoil as Airfoil
    from edgewise.geometry import Angle as Angle
    from edgewise.geometry import Box as Box
    from edgewise.geometry import Cuboid as Cuboid
    from edgewise.geometry import Curve as Curve
    from edgewise.geometry import Direction as Direction
    from edgewise.geometry import Ellipse as Ellipse
    from edgewise.geometry import Ellipsoid as Ellipsoid
    from edgewise.geometry import FourierCurve as FourierCurve
    from edgewise.geometry import HalfBalls as HalfBalls
    from edgewise.geometry import HarmonicSurface as HarmonicSurface
    from edgewise.geometry import Kite as Kite
    from edgewise.geometry import Patch as Patch
    from edgewise.geometry import Polygon as Polygon
    from edgewise.geometry import Revolution as Revolution
    from edgewise.geometry import Rotate as Rotate
    from edgewise.geometry import Scale as Scale
    from edgewise.geometry import Sphere as Sphere
    from edgewise.geometry import StarCurve as StarCurve
    from edgewise.geometry import StarSurface as StarSurface
    from edgewise.geometry import Surface as Surface
    from edgewise.geometry import Teardrop as Teardrop
    from edgewise.geometry import Torus as Torus
    from edgewise.geometry import Translate as Translate
    from edgewise.geometry import Union as Union
    from edgewise.kernels import Biharmonic as Biharmonic
    from edgewise.kernels import Helmholtz as Helmholtz
    from edgewise.kernels import Laplace as Laplace
    from edgewise.kernels import ModifiedHelmholtz as ModifiedHelmholtz
    from edgewise.learn.choices import recipe as recipe
    from edgewise.learn.fit import fit as fit
    from edgewise.learn.loading import load as load
    from edgewise.learn.loading import pretrained as pretrained
    from edgewise.learn.operator import Operator as Operator
    from edgewise.learn.recipes import Recipe as Recipe
    from edgewise.potentials import Clamped as Clamped
    from edgewise.potentials import CombinedField as CombinedField
    from edgewise.potentials import Direct as Direct
    from edgewise.potentials import Dirichlet as Dirichlet
    from edgewise.potentials import DoubleLayer as DoubleLayer
    from edgewise.potentials import LayerPair as LayerPair
    from edgewise.potentials import Neumann as Neumann
    from edgewise.potentials import PlaneWave as PlaneWave
    from edgewise.potentials import PointSource as PointSource
    from edgewise.potentials import Robin as Robin
    from edgewise.potentials import SingleLayer as SingleLayer
    from edgewise.precision import enable_x64 as enable_x64
    from edgewise.presets import preset as preset
    from edgewise.problem import Problem as Problem
    from edgewise.quadrature import Duffy as Duffy
    from edgewise.quadrature import Graded as Graded
    from edgewise.quadrature import Kress as Kress
    from edgewise.quadrature import MonteCarlo as MonteCarlo
    from edgewise.quadrature import Trapezoid as Trapezoid
    from edgewise.quadrature import Uniform as Uniform
    from edgewise.solution import Solution as Solution
    from edgewise.solver import solve as solve

_HOME = {
    "export": ["to_xarray", "write"],
    "geometry": [
        "Airfoil",
        "Angle",
        "Box",
        "Cuboid",
        "Curve",
        "Direction",
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
    ],
    "kernels": ["AbstractKernel", "Biharmonic", "Helmholtz", "Laplace", "ModifiedHelmholtz"],
    "learn.fit": ["fit"],
    "learn.loading": ["load", "pretrained"],
    "learn.operator": ["Operator"],
    "learn.choices": ["recipe"],
    "learn.recipes": ["Recipe"],
    "potentials": [
        "BoundaryValues",
        "Clamped",
        "CombinedField",
        "Direct",
        "Dirichlet",
        "DoubleLayer",
        "LayerPair",
        "Neumann",
        "NullField",
        "PlaneWave",
        "PointSource",
        "Robin",
        "SingleLayer",
    ],
    "precision": ["enable_x64"],
    "presets": ["preset"],
    "problem": ["Problem"],
    "quadrature": ["Duffy", "Graded", "Kress", "MonteCarlo", "Trapezoid", "Uniform"],
    "solution": ["Solution"],
    "solver": ["solve"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str):
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"edgewise.{_MODULE_OF[name]}"), name)
    if name in ("precision", "testing"):
        return importlib.import_module(f"edgewise.{name}")
    raise AttributeError(f"edgewise has no name `{name}`; it has {', '.join(__all__[1:])}.")


def __dir__() -> list[str]:
    return [*__all__]
