"""Recipes: every choice that `fit` makes, as frozen dataclasses that can be printed, stored and changed."""

import dataclasses
import math
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from edgewise.learn.inputs import ParameterInputs
from edgewise.problem import Problem
from edgewise.quadrature.rule import next_even


@dataclasses.dataclass(frozen=True)
class NetworkRecipe:
    """The network."""

    kind: Literal["deeponet", "nomad"] = "deeponet"
    """Linear or nonlinear decoder."""
    features: Literal["harmonics", "gaussian", "position"] = "harmonics"
    """How a node is seen: harmonics of the boundary coordinate, Gaussian Fourier features of the position, or the position."""
    layers: int = 2
    """Hidden layers of encoder (branch) and of decoder (trunk)."""
    neurons: int = 20
    p: int = 16
    """Length of a member's code."""
    harmonics: int = 80
    """The highest wave number of `harmonics`."""
    scale: float = 5.0
    """Standard deviation of the frequencies of `gaussian`, of which there are p/2."""
    degree: int = 10
    """Total degree of the polynomials of the parameters that a DeepONet's branch sees."""
    deep_trunk: bool = False
    """Whether a DeepONet's trunk has a perceptron beside its linear map."""
    activation: Literal["gelu", "tanh", "silu", "sin"] = "tanh"
    scalars: bool = True
    """Whether the network gives the polynomial beside the layers; the paper has none."""
    normal_derivative: bool = False
    """One function v for a pair of layers, -∂v/∂n and -v: the paper's equation for plates."""


@dataclasses.dataclass(frozen=True)
class CollocationRecipe:
    """Members and nodes on which the equation is asked to hold."""

    rule: Literal["kress", "uniform", "montecarlo"] = "kress"
    """`kress` asks on its own nodes; the paper's two rules on `targets` apart from theirs."""
    members: int = 16
    """Fixed for `kress` (Chebyshev nodes of one parameter, a lattice in several); drawn anew each step for the others."""
    nodes: int = 192
    targets: int = 100
    chunk: int = 188
    """On surfaces, how many targets of `montecarlo` are worked on at once: memory is in proportion, the result is not touched."""


@dataclasses.dataclass(frozen=True)
class OptimiserRecipe:
    """How the residual is made small."""

    name: Literal["gauss-newton", "adam"] = "gauss-newton"
    steps: int = 60
    damping: float = 1e-2
    """λ of Levenberg and Marquardt at the start."""
    rate: float = 1e-3
    """Adam's."""
    decay: float = 0.95
    decay_every: int = 20_000
    check_every: int = 1
    """Steps between two looks at the validation members; Adam does them in one compiled piece."""


@dataclasses.dataclass(frozen=True)
class ValidationRecipe:
    """Members never trained on."""

    members: int = 16
    nodes: int = 256
    """More than in training, so that what the network does between nodes is seen."""
    patience: int = 10
    """Looks without an improvement by a tenth after which training ends; 0: never."""
    floor: float = 1e-11
    """Training ends below this relative misfit."""
    tol: float = 1e-3
    """The worst relative misfit with which `result` says converged."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that decides a training run, beside the problem and the seed."""

    name: str
    network: NetworkRecipe = NetworkRecipe()
    collocation: CollocationRecipe = CollocationRecipe()
    optimiser: OptimiserRecipe = OptimiserRecipe()
    validation: ValidationRecipe = ValidationRecipe()
    dtype: Literal["float64", "float32"] = "float64"


# Least and most of what a recipe may ask for; the most keep a stored recipe from asking for all the memory there is.
LIMITS = {
    "layers": (1, 64),
    "neurons": (1, 2**16),
    "p": (1, 2**16),
    "harmonics": (1, 2**14),
    "degree": (0, 64),
    "members": (1, 2**16),
    "nodes": (8, 2**16),
    "targets": (1, 2**16),
    "chunk": (1, 2**16),
    "steps": (1, 10**9),
    "check_every": (1, 10**9),
    "decay_every": (1, 10**9),
    "patience": (0, 10**9),
    "scale": (0.0, 1e6),
    "damping": (1e-15, 1e8),
    "rate": (1e-12, 1e3),
    "decay": (1e-6, 1.0),
    "floor": (0.0, 1.0),
    "tol": (1e-15, 1.0),
}
NAMES = ("default", "best", "paper", "paper-random")
# Fields that the recipes of older runs do not have; they have the default.
LATER = {"chunk"}


def recipe(name: str, problem: Problem) -> Recipe:
    """The recipe of this name for a problem: `default` (two cores, a minute), `best` (a GPU, minutes), `paper`, `paper-random`.

    >>> import dataclasses, edgewise as ew
    >>> fewer = dataclasses.replace(ew.recipe("default", ew.preset("laplace-star")), dtype="float64")
    >>> fewer.optimiser.name
    'gauss-newton'
    """
    if name not in NAMES:
        raise ValueError(
            f'No recipe is called {name!r}; there are {", ".join(NAMES)}. Write `recipe("default", problem)`.'
        )
    if not isinstance(problem, Problem):
        raise TypeError(f'`recipe` takes a `Problem` second, got {problem!r}. Write `recipe("default", problem)`.')
    if name.startswith("paper"):
        return _of_the_paper(name, problem)
    axes = ParameterInputs(problem.parameters, 0).axes
    degree = _degree(axes, best=name == "best")
    terms = math.comb(axes + degree, degree)
    pair = problem.condition.channels == 2
    nodes = next_even((128 if pair else 192) if name == "default" else (256 if pair else 320))
    # A code a polynomial, and a few that the perceptron is free to shape.
    p = terms + 4
    return Recipe(
        name,
        NetworkRecipe(p=p, degree=degree, harmonics=round(0.42 * nodes), neurons=20 if axes <= 1 else 64),
        # Fewer members than codes would leave the network free between them.
        CollocationRecipe(members=max(2, p + p // 2) if axes else 1, nodes=nodes),
        OptimiserRecipe(steps=40 if name == "default" else 100),
        ValidationRecipe(members=16 if axes else 1, nodes=next_even(4 * nodes // 3)),
    )


def _of_the_paper(name: str, problem: Problem) -> Recipe:
    """Table 1 of the paper, and its sections: on curves M = 3000, 10 members and 100 targets a step; in space its scattering.

    Of its network in space the paper says only that it is complex: the sizes are those of its Laplace problem, and so is the
    scale of the frequencies, which is near the wavenumber, 2π. Nodes in space are random under either name.
    """
    pair = problem.condition.channels == 2
    if problem.family.dim == 3:
        collocation = CollocationRecipe(rule="montecarlo", members=2, nodes=56_000, targets=1880)
    else:
        rule = "montecarlo" if name == "paper-random" else "uniform"
        collocation = CollocationRecipe(rule=rule, members=10, nodes=3000, targets=100)
    return Recipe(
        name,
        NetworkRecipe(
            kind="nomad",
            features="gaussian",
            layers=3,
            neurons=100,
            p=100,
            scale=5.0,
            activation="gelu",
            scalars=False,
            normal_derivative=pair,
        ),
        collocation,
        OptimiserRecipe(name="adam", steps=200_000, rate=1e-3, decay=0.95, decay_every=20_000, check_every=1000),
        ValidationRecipe(members=16, nodes=256, patience=0, floor=0.0),
        dtype="float32",
    )


def _degree(axes: int, best: bool) -> int:
    """As high as keeps the number of polynomials, and with it of members, within what a step can take."""
    most = 100 if best else 40
    degree = 16 if best else 11
    while degree > 1 and math.comb(axes + degree, degree) > most:
        degree -= 1
    return degree


def with_dtype(recipe: Recipe, dtype: str) -> Recipe:
    if dtype not in ("float64", "float32"):
        raise ValueError(f'`dtype` must be "float64" or "float32", got {dtype!r}.')
    return dataclasses.replace(recipe, dtype=dtype)  # pyright: ignore[reportArgumentType]


def check_fields(part: Any, where: str) -> None:
    """Refuses values of the wrong type or out of their limits, whatever the problem."""
    hints = get_type_hints(type(part))
    for field in dataclasses.fields(part):
        value, kind, name = getattr(part, field.name), hints[field.name], f"{where}.{field.name}"
        if dataclasses.is_dataclass(kind):
            if not isinstance(value, kind):  # pyright: ignore[reportArgumentType]
                raise TypeError(f"`{name}` must be a `{kind.__name__}`, got {value!r}.")  # pyright: ignore
            check_fields(value, name)
        elif get_origin(kind) is Literal:
            if value not in get_args(kind):
                raise ValueError(f"`{name}` must be one of {', '.join(map(repr, get_args(kind)))}, got {value!r}.")
        elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            low, high = LIMITS[field.name]
            if not low <= value <= high:
                raise ValueError(f"`{name}` must lie in [{low:g}, {high:g}], got {value!r}.")
        elif type(value) is not kind:
            raise TypeError(f"`{name}` must be of type {kind.__name__}, got {value!r}.")
        elif kind is int and not LIMITS[field.name][0] <= value <= LIMITS[field.name][1]:
            low, high = LIMITS[field.name]
            raise ValueError(f"`{name}` must lie in [{low}, {high}], got {value!r}.")


def from_dict(stored: Any, where: Path) -> Recipe:
    """The recipe that was written down; refuses what is not one. Whether it suits a problem, `check_recipe` says."""
    found = _part(Recipe, stored, where, "recipe")
    try:
        check_fields(found, "recipe")
    except (ValueError, TypeError) as error:
        raise ValueError(f"`{where}` is damaged: {error} Copy it again, or train again.") from None
    return found


def _part(kind: Any, stored: Any, where: Path, name: str) -> Any:
    fields = get_type_hints(kind)
    if not isinstance(stored, dict) or set(stored) | (LATER & set(fields)) != set(fields):
        raise ValueError(f"`{where}` is damaged: `{name}` is not a recipe's. Copy it again, or train again.")
    return kind(
        **{
            field: _part(hint, stored[field], where, f"{name}.{field}")
            if dataclasses.is_dataclass(hint)
            else stored[field]
            for field, hint in fields.items()
            if field in stored
        }
    )
