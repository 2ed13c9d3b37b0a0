"""Problems that ship with the package, by name. One file a problem, each read like a section of the paper."""

import equinox as eqx

from edgewise.base.words import guess
from edgewise.presets import (
    biharmonic_star,
    helmholtz_ellipsoids,
    helmholtz_halfballs,
    helmholtz_shapes,
    helmholtz_star,
    laplace_data,
    laplace_quadratic,
    laplace_shapes,
    laplace_star,
)
from edgewise.problem import Problem

# Every file has a `problem()`; the first line of its docstring is what `edgewise list` shows.
PRESETS = {
    "laplace-star": laplace_star,
    "laplace-quadratic": laplace_quadratic,
    "biharmonic-star": biharmonic_star,
    "helmholtz-halfballs": helmholtz_halfballs,
    "helmholtz-ellipsoids": helmholtz_ellipsoids,
    "laplace-shapes": laplace_shapes,
    "laplace-data": laplace_data,
    "helmholtz-star": helmholtz_star,
    "helmholtz-shapes": helmholtz_shapes,
}


def preset(name: str) -> Problem:
    """The problem of this name.

    >>> import edgewise as ew
    >>> ew.preset("laplace-star").parameters.names
    ('t',)
    """
    if not isinstance(name, str) or name not in PRESETS:
        known = ", ".join(f'"{known}"' for known in sorted(PRESETS))
        raise ValueError(
            f"No preset is called {name!r}.{guess(str(name), PRESETS)} There are {known}. Write "
            '`preset("laplace-star")`.'
        )
    return PRESETS[name].problem()


def preset_name(problem: Problem) -> str | None:
    """The name under which the problem ships; None for any other."""
    return next((name for name in PRESETS if eqx.tree_equal(problem, preset(name)) is True), None)


def summary(name: str) -> str:
    """What the preset is, in one line."""
    return description(name).splitlines()[0]


def description(name: str) -> str:
    """What the preset is, with its formulas."""
    return (PRESETS[name].__doc__ or name).strip()
