"""Refuses recipes whose parts do not fit a problem, and problems that no network here could learn."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from edgewise.base.precision import complex_dtype
from edgewise.learn.building import shape_of
from edgewise.learn.collocation import Values
from edgewise.learn.frame import wave_direction
from edgewise.learn.recipes import Recipe, check_fields
from edgewise.learn.space_checks import check_field_from_density, check_in_space
from edgewise.learn.turning import turning_numbers
from edgewise.learn.waves import amounts_of
from edgewise.potentials import LayerPair, SingleLayer, Strengths
from edgewise.problem import Problem
from edgewise.quadrature import rule_for
from edgewise.quadrature.rule import sides


def check_recipe(recipe: Any, problem: Problem) -> Recipe:
    """The recipe itself, if `fit` can follow it for this problem."""
    if not isinstance(recipe, Recipe):
        raise TypeError(f'`recipe` must be a name or a `Recipe`, got {recipe!r}. Write `recipe("default", problem)`.')
    check_fields(recipe, "recipe")
    if recipe.collocation.rule in ("uniform", "montecarlo"):
        _check_papers_rule(recipe, problem)
    if problem.family.in_space:
        check_in_space(recipe, problem)
    else:
        _check_on_curves(recipe)
    network = recipe.network
    if network.features == "harmonics" and recipe.collocation.rule == "kress":
        most = recipe.collocation.nodes // 2 - 1
        if network.harmonics > most:
            raise ValueError(
                f"`recipe.network.harmonics` is {network.harmonics}, but {recipe.collocation.nodes} nodes see at most "
                f"{most}. Take fewer harmonics, or more `collocation.nodes`."
            )
    if network.features == "gaussian" and network.p % 2:
        raise ValueError(
            f"`recipe.network.p` must be even for Gaussian features, got {network.p}. Take {network.p + 1}."
        )
    if network.kind == "equivariant":
        _check_turning(problem)
    if network.kind == "expansion":
        _check_expansion(problem)
    _check_octaves(recipe, problem)
    if network.normal_derivative and (network.features == "harmonics" or problem.condition.channels == 1):
        raise ValueError(
            "`recipe.network.normal_derivative` needs a network that sees positions and a `LayerPair`. Set it to False."
        )
    return recipe


def _check_on_curves(recipe: Recipe) -> None:
    for name, value, wrong in (
        ("collocation.rule", recipe.collocation.rule, ("duffy",)),
        ("network.kind", recipe.network.kind, ("illuminated", "revolved")),
        ("network.features", recipe.network.features, ("placed",)),
    ):
        if value in wrong:
            raise ValueError(
                f'`recipe.{name} = {value!r}` is for surfaces, and `family` has curves. Use `recipe="default"`.'
            )
    kind, optimiser = recipe.network.kind, recipe.optimiser.name
    for own, by in ((("modal",), "stochastic"), (("equivariant", "expansion"), "conjugate-gradients")):
        if (kind in own) != (optimiser == by):
            named = " and ".join(f'"{one}"' for one in own)
            raise ValueError(
                f"`recipe.network.kind = {kind!r}` does not go with `optimiser.name = {optimiser!r}`: on curves "
                f'{named} are trained by "{by}", and nothing else is. Use `recipe="default"`.'
            )
    if kind in ("modal", "equivariant", "expansion") and (
        recipe.collocation.rule != "kress" or recipe.network.features != "harmonics"
    ):
        raise ValueError(
            f'`recipe.network.kind = "{kind}"` gives harmonics and is trained with `rule = "kress"`; got features '
            f'{recipe.network.features!r} and rule {recipe.collocation.rule!r}. Use `recipe="default"`.'
        )
    if recipe.collocation.rule == "kress":
        _check_even("collocation", recipe.collocation.nodes)
    _check_even("validation", recipe.validation.nodes)


def _check_turning(problem: Problem) -> None:
    if turning_numbers(problem) is None:
        raise ValueError(
            '`recipe.network.kind = "equivariant"` is for one smooth curve, varied about a circle by as many '
            "parameters as it has numbers that vary, for `Laplace`, `Helmholtz` or `ModifiedHelmholtz`; this problem "
            'is another. Use `recipe="default"`.'
        )


def _check_expansion(problem: Problem) -> None:
    others = problem.parameters.without(amounts_of(problem, 0).names)
    wrong = [name for name, spec in others.specs if not spec.is_linear]
    if wrong:
        raise ValueError(
            '`recipe.network.kind = "expansion"` has polynomials of intervals, beside the angle of a `PlaneWave`; '
            f'`{wrong[0]}` is {dict(others.specs)[wrong[0]]}. Use `recipe="default"`.'
        )


def _check_octaves(recipe: Recipe, problem: Problem) -> None:
    specs, kind = dict(problem.parameters.specs), recipe.network.kind
    if recipe.network.octaves and (
        kind in ("illuminated", "revolved") or (kind == "modal" and wave_direction(problem) is not None)
    ):
        raise ValueError(
            f"`recipe.network.octaves` is {recipe.network.octaves}, but `kind = {kind!r}` sees the parameters of this "
            "problem in its own way. Set it to ()."
        )
    for name in recipe.network.octaves:
        if name not in specs:
            raise ValueError(
                f"`recipe.network.octaves` names `{name}`; the parameters are {', '.join(f'`{n}`' for n in specs)}. "
                "Take one of these."
            )
        spec = specs[name]
        if spec.bounds[0] <= 0:
            raise ValueError(
                f"`recipe.network.octaves` names `{name}`, which is {spec}; a logarithm needs an interval of positive "
                "numbers. Leave it out."
            )


def _check_even(role: str, nodes: int) -> None:
    if nodes % 2:
        raise ValueError(f"`recipe.{role}.nodes` must be even for Kress's rule, got {nodes}. Take {nodes + 1}.")


def _check_papers_rule(recipe: Recipe, problem: Problem) -> None:
    """Refuses uniform and random nodes for all but what the paper does with them."""
    if recipe.optimiser.name != "adam":
        raise ValueError(
            f"`recipe.collocation.rule = {recipe.collocation.rule!r}` draws new members each step, which Gauss-Newton "
            "cannot follow; "
            'expected `optimiser.name = "adam"`, or `rule = "kress"`.'
        )
    in_space = problem.family.in_space
    if in_space and recipe.collocation.rule != "montecarlo":
        raise ValueError(
            f"`recipe.collocation.rule = {recipe.collocation.rule!r}` is for curves; of the paper's rules surfaces "
            "have "
            '`rule = "montecarlo"`.'
        )
    if in_space and not isinstance(problem.representation, SingleLayer):
        raise ValueError(
            f"In space the paper has a single layer, got `{type(problem.representation).__name__}`. Write "
            "`dataclasses.replace(problem, representation=SingleLayer(kernel))`."
        )
    if not isinstance(problem.representation, LayerPair | SingleLayer):
        raise ValueError(
            f"The paper's rules serve `SingleLayer` and `LayerPair`, got `{type(problem.representation).__name__}`. "
            'Use `recipe="default"`.'
        )
    if problem.condition.takes_flux and problem.condition.channels == 1:
        raise ValueError(
            f"The paper's rules serve `Dirichlet` and `Clamped` data, got `{type(problem.condition).__name__}`. "
            'Use `recipe="default"`.'
        )
    if sides(problem.family):
        raise ValueError('The paper\'s rules serve smooth curves; this family has corners. Use `recipe="default"`.')
    if problem.condition.channels == 2 and problem.side != "interior":
        raise ValueError(
            f"The paper's pair of layers has no moments zero, so that its field grows without bound outside; got side "
            f'{problem.side!r}. Use `recipe="default"`, or `side="interior"`.'
        )


def check_problem(problem: Any) -> None:
    """Refuses problems that no network here could learn, in words."""
    if not isinstance(problem, Problem):
        raise TypeError(f"`fit` takes a `Problem` first, got {problem!r}. Write `fit(problem)`.")
    if problem.condition.jumps or problem.representation.kernel.value_shape:
        what = "Fields of two media" if problem.condition.jumps else "Flows"
        raise ValueError(f"{what} are solved, not learned; expected another problem. Use `solve(problem, ...)`.")
    if problem.family.in_space:
        check_field_from_density(problem)


def check_reads_no_data(problem: Problem, parameters: Values, dtype: Any) -> None:
    """Refuses representations whose field needs the boundary data beside the density."""
    leaves = jax.tree_util.tree_leaves(_strengths_of_zero(problem, parameters, dtype))
    if not all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves):
        raise ValueError(
            f"`{type(problem.representation).__name__}` with `{type(problem.condition).__name__}` data makes its field "
            "from the data beside the density; an operator has the density alone. Use `SingleLayer(kernel)`, for "
            "waves `CombinedField(kernel)`."
        )


@eqx.filter_jit
def _strengths_of_zero(problem: Problem, parameters: Values, dtype: Any) -> tuple[Strengths, ...]:
    """The layers of a density of zero: NaN where they read the data, which are NaN here."""
    rule = rule_for(problem.family, 4 if problem.family.in_space else 16)
    member = problem.member(rule, parameters, dtype, data=False)
    shape = shape_of(problem, dtype)
    kind = complex_dtype(dtype) if shape.is_complex else dtype
    zero = jnp.zeros(member.boundary.s.shape[0] * shape.channels, kind)
    density = member.representation.density(member.boundary, member.condition, zero)
    return member.representation.strengths(member, density, jnp.zeros(shape.scalars, kind))
