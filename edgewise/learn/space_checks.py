"""What learning on surfaces asks of a problem and of a recipe."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.named import bind
from edgewise.geometry import Boundary
from edgewise.learn.frame import plane_wave
from edgewise.learn.inputs import ParameterInputs
from edgewise.learn.recipes import Recipe
from edgewise.learn.waves import turning_direction
from edgewise.potentials import CombinedField
from edgewise.problem import Problem
from edgewise.quadrature import Duffy

# Nodes along a side of a patch beyond which one member alone would fill the memory.
MOST_NODES = 48


def check_in_space(recipe: Recipe, problem: Problem) -> None:
    """Refuses recipes that are for curves, or whose parts do not fit each other."""
    network, collocation, optimiser = recipe.network, recipe.collocation, recipe.optimiser
    if collocation.rule == "kress":
        raise ValueError(
            '`recipe.collocation.rule = "kress"` is for curves; on surfaces expected "duffy", or the paper\'s '
            '"montecarlo". Use `recipe="default"`.'
        )
    for role, nodes in (("collocation", collocation.nodes), ("validation", recipe.validation.nodes)):
        if nodes > MOST_NODES and not (role == "collocation" and collocation.rule == "montecarlo"):
            raise ValueError(
                f"`recipe.{role}.nodes` is {nodes}, along a side of every patch; expected at most {MOST_NODES}. Take "
                "12."
            )
    of_curves = ("deeponet", "modal", "equivariant", "expansion")
    if network.kind in of_curves or (network.features == "harmonics" and network.kind == "nomad"):
        raise ValueError(
            f"`recipe.network` has kind {network.kind!r} and sees {network.features!r}, which are for curves; on "
            "surfaces expected "
            '"nomad" that sees "placed", or for plane waves "illuminated". Use `recipe="default"`.'
        )
    if network.kind == "revolved" and turning_direction(problem) is None:
        raise ValueError(
            '`recipe.network.kind = "revolved"` is for a `PlaneWave` whose direction is a parameter, on sound-soft '
            'bodies of revolution (`HalfBalls`), with `CombinedField`. Use `recipe="default"`.'
        )
    if network.kind == "illuminated" and plane_wave(problem) is None:
        raise ValueError(
            f'`recipe.network.kind = "illuminated"` is for `data=PlaneWave(...)`, got {type(problem.data).__name__}. '
            'Use `kind="nomad"`.'
        )
    expected = {"revolved": "gauss-newton"}.get(network.kind, "stochastic" if collocation.rule == "duffy" else "adam")
    if optimiser.name != expected:
        raise ValueError(
            f"`recipe.optimiser.name = {optimiser.name!r}` does not serve {network.kind!r} with rule "
            f"{collocation.rule!r}; expected {expected!r}."
        )
    if network.kind == "revolved":
        _check_revolved(recipe, problem)
    if collocation.rule == "duffy" and optimiser.name == "stochastic" and collocation.batch > collocation.members:
        raise ValueError(
            f"`recipe.collocation.batch` is {collocation.batch}, of {collocation.members} members; expected no more "
            "than these."
        )


def _check_revolved(recipe: Recipe, problem: Problem) -> None:
    network, collocation = recipe.network, recipe.collocation
    if collocation.rule != "duffy":
        raise ValueError(f'`recipe.network.kind = "revolved"` needs rule "duffy", got {collocation.rule!r}.')
    if network.harmonics < network.order:
        raise ValueError(
            f"`recipe.network.harmonics` is {network.harmonics}, below `order`, {network.order}: harmonics of the "
            "direction have no such orders. Take as many or more."
        )
    direction = turning_direction(problem)
    inputs = ParameterInputs(problem.parameters.without([str(direction)]), network.degree)
    if network.poles and inputs.axes != 1:
        raise ValueError(
            f"`recipe.network.poles` is {network.poles}, and beside the direction there are {inputs.axes} parameters; "
            "poles are for one. Set it to 0."
        )
    functions, evenly = len(inputs.terms) + network.poles, collocation.members - collocation.members // 2
    if evenly < functions:
        raise ValueError(
            f"`recipe.collocation.members` is {collocation.members}, the first half of which cannot tell {functions} "
            f"functions of the parameters apart; expected at least {2 * functions}."
        )


def check_field_from_density(problem: Problem) -> None:
    """Refuses representations whose field takes layers of the density, which an operator does not apply."""
    if isinstance(problem.representation, CombinedField) and problem.condition.takes_flux:
        raise ValueError(
            "`fit` in space serves sound-soft bodies: with a flux as data, `CombinedField` makes its field from a "
            "layer of the density, which would be as dear as a solve. Use `SingleLayer(kernel)` away from resonances "
            "of the inside, or `solve`."
        )
    kernel = problem.representation.kernel
    if kernel.has_constants and problem.side == "interior" and not problem.condition.takes_value:
        raise ValueError(
            "`fit` in space does not serve Neumann data of Laplace's equation inside: the mean that its solution is "
            "free of is an integral of a layer. Use `solve`."
        )


def is_complex(problem: Problem, dtype: Any) -> bool:
    """Whether unknowns are complex: if the kernel is, or the data."""

    def trace():
        members = problem.parameters.sample(jax.random.key(0), 1)
        parameters = {name: value[0].astype(dtype) for name, value in members.items()}
        boundary = Duffy(4).place(problem.family, parameters, dtype)
        kernel = bind(problem.representation.kernel, parameters)
        return kernel.radial(jnp.ones((), dtype)), problem.data_on(boundary, parameters)

    return any(jnp.issubdtype(part.dtype, jnp.complexfloating) for part in jax.eval_shape(trace))


def unknown_has_jacobian(problem: Problem) -> bool:
    """Whether the unknown of the equation is density times jacobian: asked of a node whose jacobian is two."""
    two: Any = np.full(1, 2.0)
    vectors: Any = np.ones((1, 3))
    node = Boundary(vectors[:, :2], vectors, vectors, two, two, two, components=1)
    density = problem.representation.density(node, problem.condition, np.ones(1))  # pyright: ignore[reportArgumentType]
    return float(density[0]) != 1
