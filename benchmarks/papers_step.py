"""One training step of the paper's scattering recipe beside what its arithmetic alone would take on this machine.

The limit: every pair of target and node costs a square root and two exponentials (sine and cosine) and two complex
products, every node the network's products, forth and back. Rates are those of a large matrix product and of a plain loop.
"""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew
from benchmarks.harness import compete, medians
from edgewise.learn.building import Shape, build_network
from edgewise.learn.drawn import mean_square
from edgewise.learn.networks import Nomad, split_trainable
from edgewise.learn.wrapped import TimesJacobian


def run(quick: bool) -> dict[str, Any]:
    problem = ew.Problem(
        family=ew.HalfBalls(),
        parameters=ew.Box(t=(0.05, 0.5), direction=ew.Direction(3, default=(0, 0, 1))),
        representation=ew.SingleLayer(ew.Helmholtz(dim=3, wavenumber=2 * np.pi)),
        data=ew.PlaneWave("direction"),
        side="exterior",
    )
    recipe = ew.recipe("paper", problem)
    if quick:
        few = dataclasses.replace(recipe.collocation, nodes=400, targets=40, chunk=20)
        recipe = dataclasses.replace(recipe, collocation=few)
    repeats, size, count = (1, 64, 2**12) if quick else (5, 2048, 2**24)
    collocation, dtype = recipe.collocation, np.dtype(recipe.dtype)
    network = build_network(problem, recipe, Shape(1, 0, True), jnp.ones(1), jax.random.key(0))
    assert isinstance(network, TimesJacobian) and isinstance(network.network, Nomad), "its products are counted"
    trainable, rest = split_trainable(network)

    def loss(weights, key):
        return mean_square(eqx.combine(weights, rest), problem, collocation, key, dtype)

    step = jax.jit(jax.value_and_grad(loss)).lower(trainable, jax.random.key(1)).compile()
    matrix = jax.random.normal(jax.random.key(2), (size, size), dtype)
    numbers = jax.random.uniform(jax.random.key(3), (count,), dtype)
    product = jax.jit(jnp.matmul)
    loop = jax.jit(lambda x: jnp.sum(jnp.exp(-jnp.sqrt(x)) + jnp.exp(-2 * x)))
    seconds, _ = compete(
        {
            "step": lambda: step(trainable, jax.random.key(1)),
            "product": lambda: product(matrix, matrix),
            "loop": lambda: loop(numbers),
        },
        repeats,
    )
    median = medians(seconds)
    rates = {"flops": 2 * size**3 / median["product"], "pairs": count / median["loop"]}
    pairs = collocation.members * collocation.targets * collocation.nodes
    flops = 16 * pairs + collocation.members * collocation.nodes * flops_of(network.network)
    limit = flops / rates["flops"] + pairs / rates["pairs"]
    return {
        "recipe": dataclasses.asdict(collocation),
        "pairs": pairs,
        "flops": flops,
        "rates": rates,
        "megabytes": step.memory_analysis().temp_size_in_bytes / 1e6,
        "seconds": seconds,
        "median": median,
        "limit": limit,
        "ratio": median["step"] / limit,
    }


def flops_of(network: Nomad) -> int:
    """Of the products at one node: forward, in the weights and, but for the first layer, in what the layer sees."""
    first, later = network.from_features.size, sum(weight.size for weight in network.decoder.weights)
    return 2 * (2 * first + 3 * later)


def describe(result: dict[str, Any]) -> list[str]:
    recipe, rates = result["recipe"], result["rates"]
    return [
        f"{recipe['members']} members x {recipe['targets']} targets x {recipe['nodes']} nodes, {recipe['chunk']} targets at "
        f"once: {result['median']['step']:.3f} s a step, {result['megabytes']:.0f} MB",
        f"its arithmetic {result['limit']:.3f} s, at {rates['flops'] / 1e9:.0f} Gflop/s in products and "
        f"{rates['pairs'] / 1e6:.0f} million roots with two exponentials a second; ratio {result['ratio']:.1f}",
    ]
