"""The paper's Laplace family at the t it prints, by the operator that ships.

`python examples/paper_family.py laplace-star.png` draws truth, prediction and error.
"""

import sys

import jax.numpy as jnp

import edgewise as ew
from edgewise import plot

ew.enable_x64()

operator = ew.pretrained("laplace-star")
answers = operator(t=jnp.array([1.15, 1.35, 1.45]))
samples = plot.sample_field(answers, 120)
errors = [float(jnp.linalg.norm(s.error) / jnp.linalg.norm(s.truth)) for s in samples]
print("relative l2 errors up to the boundary:", ", ".join(f"{error:.1e}" for error in errors), "(paper: 3 %)")
assert max(errors) < 1e-10

if len(sys.argv) > 1:
    plot.field_figure(answers, samples=samples, name="prediction").savefig(sys.argv[1])
