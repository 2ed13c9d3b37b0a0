"""From a recipe to a network for a problem, and what a recipe may not ask for."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from edgewise.geometry import AbstractSurface
from edgewise.geometry.ranges import Interval
from edgewise.learn.choices import turning_direction
from edgewise.learn.collocation import Values, equation, linear_names, rule_on
from edgewise.learn.equivariant import Equivariant
from edgewise.learn.frame import WaveFrame, wave_direction
from edgewise.learn.illuminated import Illuminated
from edgewise.learn.inputs import (
    Fixed,
    GaussianFourier,
    Harmonics,
    ParameterInputs,
    Placed,
    Position,
    Superposition,
)
from edgewise.learn.modal import Modal
from edgewise.learn.networks import AbstractNetwork, DeepONet, Nomad, Output
from edgewise.learn.recipes import NetworkRecipe, Recipe, check_fields
from edgewise.learn.revolved import Revolved
from edgewise.learn.space_checks import check_field_from_density, check_in_space, is_complex, unknown_has_jacobian
from edgewise.learn.turning import turning_numbers
from edgewise.learn.wrapped import Lit, NormalDerivative, Superposed, TimesJacobian
from edgewise.potentials import LayerPair, PlaneWave, SingleLayer, Strengths
from edgewise.precision import complex_dtype
from edgewise.problem import Problem
from edgewise.quadrature import Duffy
from edgewise.quadrature.rule import sides

MOST_TERMS = 2048


def check_recipe(recipe: Any, problem: Problem) -> Recipe:
    """The recipe itself, if `fit` can follow it for this problem."""
    if not isinstance(recipe, Recipe):
        raise TypeError(f'`recipe` must be a name or a `Recipe`, got {recipe!r}. Write `recipe("default", problem)`.')
    check_fields(recipe, "recipe")
    if recipe.collocation.rule in ("uniform", "montecarlo"):
        _check_papers_rule(recipe, problem)
    if problem.family.dim == 3:
        check_in_space(recipe, problem)
    else:
        _check_on_curves(recipe)
    network = recipe.network
    if network.features == "harmonics" and recipe.collocation.rule == "kress":
        most = recipe.collocation.nodes // 2 - 1
        if network.harmonics > most:
            raise ValueError(
                f"`recipe.network.harmonics` is {network.harmonics}, but {recipe.collocation.nodes} nodes see at most {most}. "
                "Take fewer harmonics, or more `collocation.nodes`."
            )
    if network.features == "gaussian" and network.p % 2:
        raise ValueError(
            f"`recipe.network.p` must be even for Gaussian features, got {network.p}. Take {network.p + 1}."
        )
    if network.kind == "equivariant":
        _check_turning(problem)
    _check_octaves(recipe, problem)
    if network.normal_derivative and (
        network.features == "harmonics" or not isinstance(problem.representation, LayerPair)
    ):
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
    for own, by in (("modal", "stochastic"), ("equivariant", "conjugate-gradients")):
        if (kind == own) != (optimiser == by):
            raise ValueError(
                f"`recipe.network.kind = {kind!r}` does not go with `optimiser.name = {optimiser!r}`: on curves "
                f'"{own}" is trained by "{by}", and nothing else is. Use `recipe="default"`.'
            )
    if kind in ("modal", "equivariant") and (
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
            '`recipe.network.kind = "equivariant"` is for one smooth curve, varied about a circle by as many parameters as it has numbers '
            'that vary, for `Laplace`, `Helmholtz` or `ModifiedHelmholtz`; this problem is another. Use `recipe="default"`.'
        )


def _check_octaves(recipe: Recipe, problem: Problem) -> None:
    specs, kind = dict(problem.parameters.specs), recipe.network.kind
    if recipe.network.octaves and (
        kind in ("illuminated", "revolved") or (kind == "modal" and wave_direction(problem) is not None)
    ):
        raise ValueError(
            f"`recipe.network.octaves` is {recipe.network.octaves}, but `kind = {kind!r}` sees the parameters of this problem in its own "
            "way. Set it to ()."
        )
    for name in recipe.network.octaves:
        if name not in specs:
            raise ValueError(
                f"`recipe.network.octaves` names `{name}`; the parameters are {', '.join(f'`{n}`' for n in specs)}. Take one of these."
            )
        spec = specs[name]
        if not isinstance(spec, Interval) or np.min(spec.low) <= 0:
            raise ValueError(
                f"`recipe.network.octaves` names `{name}`, which is {spec}; a logarithm needs an interval of positive numbers. Leave "
                "it out."
            )


def _check_even(role: str, nodes: int) -> None:
    if nodes % 2:
        raise ValueError(f"`recipe.{role}.nodes` must be even for Kress's rule, got {nodes}. Take {nodes + 1}.")


def _check_papers_rule(recipe: Recipe, problem: Problem) -> None:
    """Uniform and random nodes serve what the paper does with them, and nothing else."""
    if recipe.optimiser.name != "adam":
        raise ValueError(
            f"`recipe.collocation.rule = {recipe.collocation.rule!r}` draws new members each step, which Gauss-Newton cannot follow; "
            'expected `optimiser.name = "adam"`, or `rule = "kress"`.'
        )
    in_space = problem.family.dim == 3
    if in_space and recipe.collocation.rule != "montecarlo":
        raise ValueError(
            f"`recipe.collocation.rule = {recipe.collocation.rule!r}` is for curves; of the paper's rules surfaces have "
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
    if isinstance(problem.representation, LayerPair) and problem.side != "interior":
        raise ValueError(
            f"The paper's pair of layers has no moments zero, so that its field grows without bound outside; got side "
            f'{problem.side!r}. Use `recipe="default"`, or `side="interior"`.'
        )


def check_problem(problem: Any) -> None:
    """Refuses problems that no network here could learn, in words."""
    if not isinstance(problem, Problem):
        raise TypeError(f"`fit` takes a `Problem` first, got {problem!r}. Write `fit(problem)`.")
    if problem.family.dim == 3:
        check_field_from_density(problem)


def check_reads_no_data(problem: Problem, parameters: Values, dtype: Any) -> None:
    """Refuses representations whose field needs the boundary data beside the density."""
    leaves = jax.tree_util.tree_leaves(_strengths_of_zero(problem, parameters, dtype))
    if not all(np.all(np.isfinite(np.asarray(leaf))) for leaf in leaves):
        raise ValueError(
            f"`{type(problem.representation).__name__}` with `{type(problem.condition).__name__}` data makes its field from the data "
            "beside the density; an operator has the density alone. Use `SingleLayer(kernel)`, for waves `CombinedField(kernel)`."
        )


@eqx.filter_jit
def _strengths_of_zero(problem: Problem, parameters: Values, dtype: Any) -> Strengths:
    """The layers of a density of zero: NaN where they read the data, which are NaN here."""
    rule = Duffy(4) if problem.family.dim == 3 else rule_on(problem.family, 16)
    member = problem.member(rule, parameters, dtype, data=False)
    shape = shape_of(problem, dtype)
    kind = complex_dtype(dtype) if shape.is_complex else dtype
    zero = jnp.zeros(member.boundary.s.shape[0] * shape.channels, kind)
    density = member.representation.density(member.boundary, member.condition, zero)
    return member.representation.strengths(member, density, jnp.zeros(shape.scalars, kind))


class Shape(eqx.Module):
    """What the equation of a problem asks of a network."""

    channels: int = eqx.field(static=True)
    scalars: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)


def shape_of(problem: Problem, dtype: Any) -> Shape:
    """Found by tracing the equation on a few nodes: nothing is computed."""
    if problem.family.dim == 3:
        return Shape(1, 0, is_complex(problem, dtype))
    rule = rule_on(problem.family, 8)

    def trace(parameters):
        system = equation(problem, rule, parameters, dtype)
        return system.matrix, system.rhs

    members = jax.eval_shape(lambda: problem.parameters.sample(jax.random.key(0), 1))
    one = {name: jax.ShapeDtypeStruct(leaf.shape[1:], dtype) for name, leaf in members.items()}
    matrix, rhs = jax.eval_shape(trace, one)
    channels = problem.condition.channels
    unknowns = rule.num_nodes * channels * len(problem.family.curves)
    return Shape(channels, matrix.shape[1] - unknowns, jnp.issubdtype(rhs.dtype, jnp.complexfloating))


def build_network(problem: Problem, recipe: Recipe, shape: Shape, sizes: Array, key: PRNGKeyArray) -> AbstractNetwork:
    """The network at its start; `sizes` of the channels and scalars."""
    network, dtype = recipe.network, np.dtype(recipe.dtype)
    first, second = jax.random.split(key)
    # One function gives both densities of a pair, the single one by its derivative.
    channels = 1 if network.normal_derivative else shape.channels
    if network.normal_derivative:
        sizes = sizes[1:]
    output = Output(Fixed(sizes.astype(dtype)), channels, shape.is_complex)
    if network.kind == "revolved":
        direction = turning_direction(problem)
        assert direction is not None and isinstance(problem.family, AbstractSurface), "see `check_in_space`"
        return Revolved(
            ParameterInputs(problem.parameters.without([direction]), network.degree),
            problem.family,
            output,
            direction=direction,
            poles=network.poles,
            order=network.order,
            degree=network.harmonics,
            radial=network.radial,
            dtype=dtype,
        )
    amounts = _amounts(problem, network)
    inputs = ParameterInputs(
        problem.parameters.without(amounts.linear), network.degree if network.kind == "deeponet" else 0, network.octaves
    )
    if math.comb(inputs.axes + inputs.degree, inputs.axes) > MOST_TERMS:
        raise ValueError(
            f"`recipe.network.degree = {network.degree}` gives more than {MOST_TERMS} polynomials of {inputs.axes} parameters. "
            "Lower it."
        )
    common = {
        "layers": network.layers,
        "neurons": network.neurons,
        "activation": network.activation,
        "dtype": dtype,
        "key": second,
    }
    if network.kind == "illuminated":
        return Illuminated(inputs, problem, output, **common)
    sight = _sight(problem, network, dtype, first)
    if network.kind == "modal":
        assert isinstance(sight, Harmonics), "see `check_recipe`"
        seen = inputs if wave_direction(problem) is None else WaveFrame(problem, dtype)
        return Modal(seen, sight, output, amounts, wave=_plane_wave(problem), **common)
    if network.kind == "equivariant":
        turning = turning_numbers(problem, dtype, network.octaves)
        assert turning is not None and isinstance(sight, Harmonics), "see `check_recipe`"
        direction = wave_direction(problem)
        return Equivariant(
            *turning, sight, output, amounts, most=network.p, degree=network.degree, direction=direction, dtype=dtype
        )
    common["p"] = network.p
    if network.kind == "nomad":
        made: AbstractNetwork = Nomad(inputs, sight, output, **common)
    else:
        made = DeepONet(inputs, sight, _repeated(output, amounts.count), deep_trunk=network.deep_trunk, **common)
        made = Superposed(made, amounts) if amounts.linear else _lit(made, problem)
    if problem.family.dim == 3 and unknown_has_jacobian(problem):
        made = TimesJacobian(made)
    return NormalDerivative(made) if network.normal_derivative else made


def _amounts(problem: Problem, network: NetworkRecipe) -> Superposition:
    """The numbers in which the network is to be linear."""
    if problem.family.dim == 3 or network.kind not in ("modal", "equivariant", "deeponet"):
        return Superposition()
    linear = linear_names(problem)
    numbers = sum(math.prod(spec.shape) for name, spec in problem.parameters.specs if name in linear)
    return Superposition(linear, numbers or 1)


def _repeated(output: Output, times: int) -> Output:
    """For so many answers at once."""
    sizes, channels = output.size.value, output.channels
    every = jnp.concatenate([jnp.tile(sizes[:channels], times), jnp.tile(sizes[channels:], times)])
    return Output(Fixed(every), channels * times, output.is_complex)


def _lit(network: AbstractNetwork, problem: Problem) -> AbstractNetwork:
    """With the phase of the incident plane wave, where there is one."""
    wave = _plane_wave(problem)
    return network if wave is None else Lit(network, wave)


def _plane_wave(problem: Problem) -> Fixed | None:
    return Fixed((problem.representation, problem.data)) if isinstance(problem.data, PlaneWave) else None


def _sight(problem: Problem, network: NetworkRecipe, dtype: Any, key: PRNGKeyArray) -> Any:
    if network.features == "harmonics":
        return Harmonics(network.harmonics, len(problem.family.curves))
    if network.features == "gaussian":
        return GaussianFourier(problem.family.dim, network.p, network.scale, dtype, key)
    return (Placed if network.features == "placed" else Position)(problem.family.dim)


def unknown_sizes(rhs: Array, recipe: Recipe, shape: Shape) -> Array:
    """The size of each channel of unknowns, from a conditioned equation, which is near the identity; 1 where it is zero.

    The paper's networks give the unknowns themselves. A network without scalars has them with size zero.
    """
    rows = jnp.abs(rhs[:, : rhs.shape[1] - shape.scalars]).reshape(rhs.shape[0], shape.channels, -1)
    sizes = jnp.sqrt(jnp.mean(rows**2, axis=(0, 2)))
    sizes = jnp.where((sizes > 0) & (recipe.collocation.rule == "kress"), sizes, 1)
    return jnp.concatenate([sizes, jnp.full(shape.scalars, sizes[0] if recipe.network.scalars else 0.0)])
