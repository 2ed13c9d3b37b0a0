"""Which recipe suits a problem: `recipe`, by name."""

import math

from edgewise.base.parameters import Box
from edgewise.learn.frame import plane_wave, wave_direction
from edgewise.learn.inputs import ParameterInputs, axes_of, number_of_terms
from edgewise.learn.multiplied import superposition
from edgewise.learn.octaves import by_octaves
from edgewise.learn.recipes import CollocationRecipe, NetworkRecipe, OptimiserRecipe, Recipe, ValidationRecipe
from edgewise.learn.turned_data import Column
from edgewise.learn.turning import TurningNumbers, asked_once, turning_numbers
from edgewise.learn.turning_terms import terms_of
from edgewise.learn.waves import amounts_of, degree_costs, orders_of, turning_direction, turns_of, waves_of
from edgewise.problem import Problem
from edgewise.quadrature.rule import next_even, next_shared, sides

# From so many numbers on (of waves, whose phase turns, sooner) a lattice of members that says enough is too large.
MANY, MANY_WAVES = 5, 3
# From so many numbers on it pays to look for the symmetry under rotations of the plane.
SEVERAL = 2
# Polynomials of all numbers, without a perceptron, serve from the first of these on and below the second.
THREE, TOO_MANY = 3, 7
# The most equivariant polynomials, and the most that their number times the root of that of the columns may be: the
# work of a step is quadratic in one and linear in the other, here half a minute on two cores.
MOST_TURNING, MOST_BY_COLUMNS = 32_000, 130_000
# Beyond so many harmonics of a plane wave's angle bodies are too many wavelengths large.
MOST_ORDERS = 60
# Operations of a step that adds up all harmonics, for `default` and `best`: two seconds on two cores, some 30 steps.
MOST_WORK = (5e10, 2e11)
NAMES = ("default", "best", "paper", "paper-random")


def recipe(name: str, problem: Problem) -> Recipe:
    """The recipe of this name: `default` (two cores, a minute), `best` (a GPU, minutes), `paper`, `paper-random`.

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
    if problem.family.in_space:
        return _in_space(name, problem)
    amounts = superposition(problem)
    box = problem.parameters.without(amounts.names)
    axes, turns = len(axes_of(box)), turns_of(problem)
    turning = turning_numbers(problem) if axes >= SEVERAL else None
    if turning is not None:
        return _turning(name == "best", problem, *turning)
    if _expands(problem):
        return _expanded(name == "best", problem)
    if axes >= (MANY_WAVES if turns else MANY):
        return _for_many(name == "best", problem)
    # Every number in which the data are linear multiplies what is to be learned, and the members it takes.
    answers = amounts.count
    # More polynomials cost little, but where corners ask for many nodes, or waves for many polynomials.
    high = name == "best" or (axes <= (1 if turns else 2) and not sides(problem.family))
    degree = _degree(box, turns, 16 if high else 11, best=name == "best", answers=answers)
    terms = len(ParameterInputs(box, degree).terms)
    pair = problem.condition.channels == 2
    # Where members are many, what is left of accuracy is theirs to give.
    nodes = (128 if pair or terms > 100 else 192) if name == "default" else (256 if pair else 320)
    nodes = min(nodes, 96 if name == "default" else 128) if axes > 2 else nodes
    if sides(problem.family):
        # Sides that meet at ten degrees need so many.
        nodes = next_shared(4 * nodes if axes <= 1 else 3 * nodes, sides(problem.family))
    # A code a polynomial, and a few that the perceptron is free to shape.
    p = terms + 4
    return Recipe(
        name,
        NetworkRecipe(
            p=p,
            degree=degree,
            octaves=by_octaves(problem),
            harmonics=round(0.42 * nodes),
            neurons=20 if axes <= 1 else 8,
        ),
        # Fewer members than codes would leave the network free between them.
        CollocationRecipe(members=members_for(p, axes, answers), nodes=nodes),
        OptimiserRecipe(steps=40 if name == "default" else 100),
        ValidationRecipe(members=16 if axes + answers > 1 else 1, nodes=next_even(4 * nodes // 3)),
    )


def _for_many(best: bool, problem: Problem) -> Recipe:
    nodes = 128 if best else 64
    waves = waves_of(problem)
    across = waves.most * waves.away
    nodes = max(nodes, next_even(math.ceil(6 * across)))
    if sides(problem.family):
        nodes = next_shared(2 * nodes, sides(problem.family))
    return Recipe(
        "best" if best else "default",
        NetworkRecipe(
            kind="modal",
            layers=3,
            neurons=256 if best else 128,
            octaves=by_octaves(problem),
            harmonics=round(0.4 * nodes),
        ),
        CollocationRecipe(members=512 if best else 256, nodes=nodes, targets=16 if best else 8),
        OptimiserRecipe(
            name="stochastic", steps=4000 if best else 400, damping=1e-3, momentum=0.9, rate=1.0, check_every=25
        ),
        # With many parameters a GPU learns the worst member to a percent or better.
        ValidationRecipe(members=64, nodes=next_even(3 * nodes // 2), patience=0, tol=3e-2 if best else 1e-3),
    )


def _turning(best: bool, problem: Problem, numbers: TurningNumbers, columns: tuple[Column, ...]) -> Recipe:
    waves = waves_of(problem)
    nodes = max(128 if best else 64, next_even(math.ceil(6 * waves.most * waves.away)))
    harmonics = round(0.4 * nodes)
    p, degree = min(MOST_TURNING, int(MOST_BY_COLUMNS / len(columns) ** 0.5)), 16 if best else 14
    terms = terms_of(numbers.orders, numbers.costs, p, degree, harmonics)
    return Recipe(
        "best" if best else "default",
        NetworkRecipe(kind="equivariant", p=p, degree=degree, octaves=by_octaves(problem), harmonics=harmonics),
        # Every member has two rows for the terms of one order.
        CollocationRecipe(members=math.ceil((1.5 if best else 1) * terms.longest), nodes=nodes),
        OptimiserRecipe(name="conjugate-gradients", steps=100, check_every=5),
        ValidationRecipe(members=64, nodes=next_even(3 * nodes // 2), patience=0),
    )


def _expands(problem: Problem) -> bool:
    """Whether the recipe is `expansion`: polynomials of several numbers, linear in all weights.

    For waves: where the angle of a plane wave varies beside other numbers, or several numbers vary, since a phase that
    turns takes many polynomials of each. Elsewhere: from three numbers on, if the equation is nearly the same for all
    members, so that one preconditioner serves them all. That excludes Robin coefficients, plates and corners.
    """
    direction = wave_direction(problem)
    others = axes_of(problem.parameters.without(asked_once(problem)))
    if not all(spec.is_linear for spec in others):
        return False
    if waves_of(problem).most:
        return len(others) >= (1 if direction else 2) and not (direction and orders_of(problem) > MOST_ORDERS)
    # One of value and flux is given, not both.
    is_alike = problem.condition.takes_value != problem.condition.takes_flux
    return is_alike and not sides(problem.family) and THREE <= len(others) < TOO_MANY


def _expanded(best: bool, problem: Problem) -> Recipe:
    order = orders_of(problem) if wave_direction(problem) else 0
    amounts, waves = amounts_of(problem, order), waves_of(problem)
    box = problem.parameters.without(amounts.names)
    axes = len(axes_of(box))
    nodes = (320 if best else 192) if axes == 1 else (192 if best else 128) if axes == 2 else (128 if best else 96)
    nodes = max(nodes, next_even(math.ceil(6 * waves.most * waves.away)))
    if sides(problem.family):
        nodes = next_shared(3 * nodes, sides(problem.family))
    harmonics, degree = round(0.42 * nodes), 20 if best else 16
    unknowns = problem.condition.channels * len(problem.family.curves) * (2 * harmonics + 1)
    most = _affordable(unknowns, amounts.count, MOST_WORK[best])
    p = terms_of((), degree_costs(problem, box, degree), most, degree, 0).longest
    return Recipe(
        "best" if best else "default",
        NetworkRecipe(
            kind="expansion", p=p, degree=degree, octaves=by_octaves(problem), order=order, harmonics=harmonics
        ),
        CollocationRecipe(members=math.ceil(1.5 * p), nodes=nodes),
        OptimiserRecipe(name="conjugate-gradients", steps=400, check_every=5),
        ValidationRecipe(members=64, nodes=next_even(4 * nodes // 3), patience=0),
    )


def _affordable(unknowns: int, columns: int, work: float) -> int:
    """The number t of polynomials for which a step takes `work` operations, 3 t c u (8u + 4t), with 1.5 t members."""
    share = work / (12 * columns * unknowns)
    return max(16, int(math.sqrt(unknowns**2 + share) - unknowns))


def _of_the_paper(name: str, problem: Problem) -> Recipe:
    """Table 1 of the paper, and its sections: on curves M = 3000, 10 members and 100 targets a step; in space its
    scattering.

    The paper says of its network in space only that it is complex: here it has the sizes of the paper's Laplace
    problem, and their scale of the frequencies, which is near the wavenumber, 2π. Nodes in space are random under
    either name.
    """
    pair = problem.condition.channels == 2
    if problem.family.in_space:
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
        # In space along a side of a patch.
        ValidationRecipe(members=16, nodes=12 if problem.family.in_space else 256, patience=0, floor=0.0),
        dtype="float32",
    )


def members_for(p: int, axes: int, answers: int) -> int:
    """The number of members that determine codes of length p."""
    if axes == 0:
        return 2 * answers if answers > 1 else 1
    return max(2, answers * (p + p // 2 if axes == 1 or answers > 1 else round(1.8 * p)))


def _degree(box: Box, turns: float, degree: int, best: bool, answers: int = 1) -> int:
    """The degree plus one for every radian of phase, lowered until polynomials and members are few enough for a
    step."""
    few = len(axes_of(box)) <= 2 and turns == 0
    most = min((200 if best else 140) if few else 700, (2200 if best else 1100) // answers)
    degree += math.ceil(turns)
    while degree > 1 and number_of_terms(box, degree) > most:
        degree -= 1
    return degree


def _in_space(name: str, problem: Problem) -> Recipe:
    best = name == "best"
    direction = turning_direction(problem)
    if direction is None:
        return _for_any_surface(best, problem)
    waves = waves_of(problem)
    across = waves.most * waves.across
    shaping = problem.parameters.without([direction])
    others = len(axes_of(shaping))
    # Waves round the axis, and of the direction, beyond which harmonics of a plane wave on the body fall off.
    order, degree = math.ceil(across) + 5, math.ceil(waves.most * waves.away) + 6
    nodes = math.ceil(6 + 0.6 * across) + (2 if best else 0)
    return Recipe(
        name,
        NetworkRecipe(
            kind="revolved",
            order=order,
            harmonics=degree,
            radial=math.ceil(10 + 1.5 * across) if best else math.ceil(8 + 1.2 * across),
            degree=_degree(shaping, 0.0, 16 if best else 11, best) if others != 1 else (10 if best else 7),
            poles=(8 if best else 6) if others == 1 else 0,
        ),
        # Many members with few rows each: resonances are narrow.
        CollocationRecipe(rule="duffy", members=256 if best else 128, nodes=nodes, targets=64 if best else 48),
        OptimiserRecipe(steps=60 if best else 40),
        ValidationRecipe(members=16, nodes=nodes + 1),
    )


def _for_any_surface(best: bool, problem: Problem) -> Recipe:
    is_lit = plane_wave(problem) is not None
    waves = waves_of(problem)
    nodes = max(8, math.ceil(5 + 0.5 * waves.most * waves.away))
    return Recipe(
        "best" if best else "default",
        NetworkRecipe(
            kind="illuminated" if is_lit else "nomad",
            features="placed",
            layers=4 if best else 3,
            neurons=100 if best else 32,
            p=32,
        ),
        CollocationRecipe(rule="duffy", members=512 if best else 64, nodes=nodes, targets=24, batch=64 if best else 16),
        OptimiserRecipe(
            name="stochastic", steps=5000 if best else 200, damping=1e-3, momentum=0.9, rate=1.0, check_every=50
        ),
        ValidationRecipe(members=16, nodes=nodes + 1, patience=0, tol=1e-1 if best else 1e-3),
    )
