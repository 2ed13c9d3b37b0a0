"""From a recipe to a network for a problem."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from edgewise.learn.amounts import Superposition
from edgewise.learn.collocation import equation
from edgewise.learn.equivariant import Equivariant
from edgewise.learn.expansion import Expansion
from edgewise.learn.frame import WaveFrame, plane_wave, wave_direction
from edgewise.learn.illuminated import Illuminated
from edgewise.learn.inputs import Fixed, GaussianFourier, Harmonics, ParameterInputs, Placed, Position
from edgewise.learn.modal import Modal
from edgewise.learn.multiplied import superposition
from edgewise.learn.networks import AbstractNetwork, DeepONet, Nomad, Output
from edgewise.learn.recipes import NetworkRecipe, Recipe
from edgewise.learn.revolved import Revolved
from edgewise.learn.space_checks import is_complex, unknown_has_jacobian
from edgewise.learn.turning import turning_numbers
from edgewise.learn.waves import amounts_of, degree_costs, turning_direction
from edgewise.learn.wrapped import Lit, NormalDerivative, Superposed, TimesJacobian
from edgewise.problem import Problem
from edgewise.quadrature import rule_for

MOST_TERMS = 2048


class Shape(eqx.Module):
    """What the equation of a problem asks of a network."""

    channels: int = eqx.field(static=True)
    scalars: int = eqx.field(static=True)
    is_complex: bool = eqx.field(static=True)


def shape_of(problem: Problem, dtype: Any) -> Shape:
    """Found by tracing the equation on a few nodes: nothing is computed."""
    if problem.family.in_space:
        return Shape(1, 0, is_complex(problem, dtype))
    rule = rule_for(problem.family, 8)

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
        assert direction is not None, "see `check_in_space`"
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
    if network.kind == "expansion":
        return _expansion(problem, network, output, dtype)
    amounts = _amounts(problem, network)
    inputs = ParameterInputs(
        problem.parameters.without(amounts.names), network.degree if network.kind == "deeponet" else 0, network.octaves
    )
    if math.comb(inputs.axes + inputs.degree, inputs.axes) > MOST_TERMS:
        raise ValueError(
            f"`recipe.network.degree = {network.degree}` gives more than {MOST_TERMS} polynomials of {inputs.axes} "
            "parameters. Lower it."
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
        seen = inputs if wave_direction(problem) is None else WaveFrame(problem, dtype)
        return Modal(seen, sight, output, amounts, wave=_fixed_wave(problem), **common)
    if network.kind == "equivariant":
        turning = turning_numbers(problem, dtype, network.octaves)
        assert turning is not None, "see `check_recipe`"
        direction = wave_direction(problem)
        return Equivariant(
            *turning, sight, output, amounts, most=network.p, degree=network.degree, direction=direction, dtype=dtype
        )
    common["p"] = network.p
    if network.kind == "nomad":
        made: AbstractNetwork = Nomad(inputs, sight, output, **common)
    else:
        made = DeepONet(inputs, sight, _repeated(output, amounts.count), deep_trunk=network.deep_trunk, **common)
        made = Superposed(made, amounts) if amounts.names else _lit(made, problem)
    if problem.family.in_space and unknown_has_jacobian(problem):
        made = TimesJacobian(made)
    return NormalDerivative(made) if network.normal_derivative else made


def _expansion(problem: Problem, network: NetworkRecipe, output: Output, dtype: Any) -> Expansion:
    amounts = amounts_of(problem, network.order)
    box = problem.parameters.without(amounts.names)
    return Expansion(
        ParameterInputs(box, 0, network.octaves),
        Harmonics(network.harmonics, len(problem.family.curves)),
        output,
        amounts,
        costs=degree_costs(problem, box, network.degree),
        most=network.p,
        degree=network.degree,
        dtype=dtype,
    )


def _amounts(problem: Problem, network: NetworkRecipe) -> Superposition:
    """The numbers in which the network is to be linear."""
    if problem.family.in_space or network.kind not in ("modal", "equivariant", "deeponet"):
        return Superposition()
    return superposition(problem)


def _repeated(output: Output, times: int) -> Output:
    """The output of `times` answers at once."""
    sizes, channels = output.size.value, output.channels
    every = jnp.concatenate([jnp.tile(sizes[:channels], times), jnp.tile(sizes[channels:], times)])
    return Output(Fixed(every), channels * times, output.is_complex)


def _lit(network: AbstractNetwork, problem: Problem) -> AbstractNetwork:
    """With the phase of the incident plane wave, where there is one."""
    wave = _fixed_wave(problem)
    return network if wave is None else Lit(network, wave)


def _fixed_wave(problem: Problem) -> Fixed | None:
    return Fixed((problem.representation, problem.data)) if plane_wave(problem) else None


def _sight(problem: Problem, network: NetworkRecipe, dtype: Any, key: PRNGKeyArray) -> Any:
    if network.features == "harmonics":
        return Harmonics(network.harmonics, len(problem.family.curves))
    if network.features == "gaussian":
        return GaussianFourier(problem.family.dim, network.p, network.scale, dtype, key)
    return (Placed if network.features == "placed" else Position)(problem.family.dim)


def unknown_sizes(rhs: Array, recipe: Recipe, shape: Shape) -> Array:
    """The size of each channel of unknowns, from a conditioned equation, which is near the identity; 1 where it is 0.

    The paper's networks give the unknowns themselves. A network without scalars has them with size zero.
    """
    rows = jnp.abs(rhs[:, : rhs.shape[1] - shape.scalars]).reshape(rhs.shape[0], shape.channels, -1)
    sizes = jnp.sqrt(jnp.mean(rows**2, axis=(0, 2)))
    sizes = jnp.where((sizes > 0) & (recipe.collocation.rule == "kress"), sizes, 1)
    return jnp.concatenate([sizes, jnp.full(shape.scalars, sizes[0] if recipe.network.scalars else 0.0)])
