"""An operator asked for what it was not trained on: the error grows, and it says by how much at most.

`python examples/outside_the_box.py error.png` draws truth, prediction and error.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("laplace-star")  # trained on 1 <= t <= 2
answers = operator(t=jnp.array([1.9, 2.1, 2.3]), extrapolate=True)
samples = plot.sample_field(answers, 120)
errors = jnp.array([sample.error.max() for sample in samples])
bounds = answers.error_estimate().value
for t, error, bound in zip(answers.parameters["t"], errors, bounds, strict=True):
    print(f"t = {t:.1f}: error {error:.1e}, said to be at most {bound:.1e}")
assert jnp.all(errors <= bounds) and jnp.all(bounds < 3 * errors)

if len(sys.argv) > 1:
    plot.field_figure(answers, samples=samples, name="prediction").savefig(sys.argv[1])
