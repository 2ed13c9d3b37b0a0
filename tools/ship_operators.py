"""Trains the operators that ship, measures them and puts them into the package.

    python tools/ship_operators.py runs/shipped --train-only     # on a GPU
    python tools/ship_operators.py runs/shipped                  # anywhere: measures and copies what is trained

A run that the folder has already is taken as it is.
"""

import argparse
import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import edgewise as ew
from edgewise.evaluation import measure
from edgewise.learn.loading import folder
from edgewise.presets import PRESETS

RANDOM = 200
# In space the truth of a member takes seconds.
RANDOM_IN_SPACE = 20


def train(name: str, path: Path) -> ew.Operator:
    return ew.fit(ew.preset(name), "best", seed=0, out=path, resume=True, progress=True)


def measured(operator: ew.Operator) -> dict[str, float]:
    """Relative l2 errors of the field up to the boundary, on members that training never saw; in space of the far field."""
    if operator.problem.family.dim == 3:
        members = operator.problem.parameters.sample(jax.random.key(2026), RANDOM_IN_SPACE)
        far = measure(operator(**members)).far_field
        assert far is not None
        return {
            "random members": RANDOM_IN_SPACE,
            "far field, relative l2, median": float(np.median(far)),
            "far field, relative l2, worst": float(far.max()),
        }
    members = operator.problem.parameters.sample(jax.random.key(2026), RANDOM)
    errors = measure(operator(**members), every_point=False)
    found = {
        "random members": RANDOM,
        "relative l2, worst": float(errors.relative_l2.max()),
        "largest error": float(errors.max_error.max()),
    }
    if operator.problem.parameters.names == ("t",):
        shown = measure(operator(t=jnp.array([1.15, 1.35, 1.45]))).relative_l2
        found |= {f"relative l2, t = {t}": float(e) for t, e in zip((1.15, 1.35, 1.45), shown, strict=True)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--train-only", action="store_true")
    options = parser.parse_args()
    ew.enable_x64()
    for name in PRESETS:
        operator = train(name, options.runs / name)
        print(name, operator.result, operator.stats, flush=True)
        if options.train_only:
            continue
        command = f"edgewise train {name} --recipe best --seed 0 --out runs/{name}"
        stats = {**operator.stats, "command": command, "measured": measured(operator)}
        dataclasses.replace(operator, stats=stats).save(folder(name), overwrite=True)
        print(stats["measured"], flush=True)


if __name__ == "__main__":
    main()
