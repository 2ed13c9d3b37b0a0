"""Recipes: every choice that `fit` makes, as frozen dataclasses that can be printed, stored and changed."""

import dataclasses
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from edgewise.base.named import is_number
from edgewise.base.words import counted


@dataclasses.dataclass(frozen=True)
class NetworkRecipe:
    """The network."""

    kind: Literal["deeponet", "nomad", "modal", "equivariant", "expansion", "illuminated", "revolved"] = "deeponet"
    """Linear or nonlinear decoder, or the harmonics of the density by a perceptron, by polynomials that turn with the
    plane, or by polynomials for every harmonic of a plane wave's angle; on surfaces, for waves, the incident phase
    times a perceptron, or what bodies of revolution allow."""
    features: Literal["harmonics", "gaussian", "position", "placed"] = "harmonics"
    """How a node is seen: harmonics of the boundary coordinate, Gaussian Fourier features of the position, the
    position, or position and normal."""
    layers: int = 2
    """Hidden layers of encoder (branch) and of decoder (trunk)."""
    neurons: int = 20
    p: int = 16
    """How many numbers the parameters become before they meet the boundary; of `equivariant` and `expansion`, how
    many polynomials at most."""
    harmonics: int = 80
    """The highest wave number of `harmonics`; of `revolved`, the highest degree of harmonics of the direction."""
    scale: float = 5.0
    """Standard deviation of the frequencies of `gaussian`, of which there are p/2."""
    degree: int = 10
    """Total degree of the polynomials of the parameters that a DeepONet's branch sees, or `revolved`; of `equivariant`
    and `expansion` the highest in the number whose powers fall off fastest."""
    octaves: tuple[str, ...] = ()
    """Parameters that are seen by their logarithm: a boundary, or its condition, that changes by ratios."""
    poles: int = 8
    """How many poles in the parameter `revolved` has beside the polynomials."""
    order: int = 12
    """`revolved`: the highest order of waves round the axis; `expansion`: of harmonics of the angle of a plane wave."""
    radial: int = 20
    """How many polynomials along each generating line `revolved` has."""
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

    rule: Literal["kress", "duffy", "uniform", "montecarlo"] = "kress"
    """`kress` asks on its own nodes, `duffy` on surfaces on `targets` of its own; the paper's two rules on `targets`
    apart from theirs."""
    members: int = 16
    """The number of members: fixed for `kress` (Chebyshev nodes of one parameter, a lattice in several) and for half of
    those of `duffy`; drawn anew each step for `modal` and for the paper's rules."""
    nodes: int = 192
    """On a curve; for `duffy` along a side of a patch."""
    targets: int = 100
    """Targets of each member; for `duffy` drawn at random from its nodes, for `modal` random combinations of all
    rows."""
    batch: int = 64
    """How many members of `duffy` stochastic Gauss-Newton takes for one step."""
    chunk: int = 188
    """How many targets of `montecarlo` on surfaces are worked on at once: more take more memory, for the same
    result."""


@dataclasses.dataclass(frozen=True)
class OptimiserRecipe:
    """How the residual is made small."""

    name: Literal["gauss-newton", "stochastic", "conjugate-gradients", "adam"] = "gauss-newton"
    """`stochastic` is Gauss-Newton with other members every step; `conjugate-gradients` is for `equivariant` and
    `expansion`, linear in their weights."""
    steps: int = 60
    damping: float = 1e-2
    """λ of Levenberg and Marquardt at the start."""
    momentum: float = 0.8
    """The share of the last step that `stochastic` starts from."""
    rate: float = 1e-3
    """Adam's; the length of the first steps of `stochastic`, which Gauss-Newton has at 1."""
    decay: float = 0.95
    decay_every: int = 20_000
    settle: float = 0.0
    """The last share of Adam's steps, over which its rate falls to nothing as well."""
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

    def __str__(self) -> str:
        """What is trained and how, in one line.

        >>> print(Recipe("mine", NetworkRecipe(harmonics=40)))  # doctest: +NORMALIZE_WHITESPACE
        recipe mine: deeponet, 2 layers of 20 neurons (tanh), parameters as 16 numbers, boundary by 40 harmonics; 16
        members x 192 nodes (kress), at most 60 steps of gauss-newton
        """
        return f"recipe {self.name}: {network_words(self)}; {collocation_words(self)}, {steps_words(self)}"


def network_words(chosen: Recipe) -> str:
    """The network in words."""
    network = chosen.network
    if network.kind == "revolved":
        return (
            f"revolved, {network.order} waves round the axis, {network.radial} polynomials along each line, "
            f"{network.harmonics} harmonics of the direction, degree {network.degree} and {network.poles} poles in the "
            "other parameters"
        )
    octaves = f" {' and '.join(network.octaves)} by octaves," if network.octaves else ""
    if network.kind == "equivariant":
        return (
            f"equivariant, at most {network.p} polynomials of degree {network.degree},{octaves} boundary by "
            f"{network.harmonics} harmonics"
        )
    if network.kind == "expansion":
        angle = f" {network.order} harmonics of the wave's angle," if network.order else ""
        return (
            f"expansion, at most {network.p} polynomials of degree {network.degree},{octaves}{angle} boundary by "
            f"{network.harmonics} harmonics"
        )
    sees = {
        "harmonics": f"{network.harmonics} harmonics",
        "gaussian": f"{network.p // 2} Gaussian features of scale {network.scale:g}",
        "position": "the position",
        "placed": "position and normal",
    }[network.features]
    # One gives a value, the other its harmonics.
    code = "" if network.kind in ("illuminated", "modal") else f" parameters as {network.p} numbers,"
    size = f"{counted(network.layers, 'layer')} of {counted(network.neurons, 'neuron')}"
    return f"{network.kind}, {size} ({network.activation}),{code}{octaves} boundary by {sees}"


def steps_words(chosen: Recipe) -> str:
    """The optimiser's steps in words."""
    return f"at most {counted(chosen.optimiser.steps, 'step')} of {chosen.optimiser.name}"


def collocation_words(chosen: Recipe) -> str:
    """Members and nodes in words."""
    collocation = chosen.collocation
    if collocation.rule == "duffy":
        return (
            f"{counted(collocation.members, 'member')} x {collocation.targets} "
            f"targets ({collocation.nodes} nodes along a side of a patch)"
        )
    fresh = " a step" if chosen.network.kind == "modal" or chosen.optimiser.name == "adam" else ""
    return f"{counted(collocation.members, 'member')}{fresh} x {collocation.nodes} nodes ({collocation.rule})"


# Least and most of what a recipe may ask for; the most keep a stored recipe from asking for all the memory there is.
LIMITS = {
    "layers": (1, 64),
    "neurons": (1, 2**16),
    "p": (1, 2**16),
    "harmonics": (1, 2**14),
    "degree": (0, 64),
    "poles": (0, 64),
    "order": (0, 128),
    "radial": (2, 64),
    "batch": (1, 2**12),
    "momentum": (0.0, 1.0),
    "members": (1, 2**16),
    "nodes": (4, 2**16),
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
    "settle": (0.0, 1.0),
    "floor": (0.0, 1.0),
    "tol": (1e-15, 1.0),
}
# Fields that the recipes of older runs do not have; they have the default.
LATER = {"chunk", "poles", "order", "radial", "batch", "momentum", "settle", "octaves"}


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
        elif get_origin(kind) is tuple:
            if not isinstance(value, tuple) or not all(isinstance(entry, str) for entry in value):
                raise TypeError(
                    f'`{name}` must be a tuple of names, got {value!r}. Write `{field.name}=("h",)`, or `()`.'
                )
        elif kind is float and is_number(value):
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
            # JSON has no tuples.
            else (tuple(stored[field]) if isinstance(stored[field], list) else stored[field])
            for field, hint in fields.items()
            if field in stored
        }
    )
