"""Trains the operators that ship, measures them and puts them into the package.

    python tools/ship_operators.py runs/shipped --train-only     # on a GPU
    python tools/ship_operators.py runs/shipped                  # anywhere: measures and copies what is trained
    python tools/ship_operators.py runs/shipped helmholtz-star   # only these

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
# Fewer polynomials than `best` has, for files of a few megabytes, and members for them.
SMALLER = {"helmholtz-star": (7758, 483), "helmholtz-shapes": (13235, 537), "laplace-data": (28125, 314)}


def train(name: str, path: Path) -> ew.Operator:
    problem = ew.preset(name)
    recipe = ew.recipe("best", problem)
    if name in SMALLER:
        p, members = SMALLER[name]
        recipe = dataclasses.replace(
            recipe,
            network=dataclasses.replace(recipe.network, p=p),
            collocation=dataclasses.replace(recipe.collocation, members=members),
        )
    return ew.fit(problem, recipe, seed=0, out=path, resume=True, progress=True)


def command(name: str) -> str:
    """Which trains the same."""
    p, members = SMALLER.get(name, (None, None))
    smaller = f" --recipe.network.p {p} --recipe.collocation.members {members}" if p else ""
    return f"edgewise train {name} --recipe best{smaller} --seed 0 --out runs/{name}"


def measured(operator: ew.Operator) -> dict[str, float]:
    """Relative l2 errors of the field up to the boundary, of waves that of the far field, on members that training never saw."""
    problem = operator.problem
    count = RANDOM if problem.family.dim == 2 else RANDOM_IN_SPACE
    errors = measure(operator(**problem.parameters.sample(jax.random.key(2026), count)), every_point=False)
    name, values = ("relative l2", errors.relative_l2)
    if errors.far_field is not None:
        name, values = "far field, relative l2", errors.far_field
    found = {
        "random members": count,
        f"{name}, median": float(np.median(values)),
        f"{name}, worst": float(values.max()),
    }
    if problem.parameters.names == ("t",):
        found["largest error"] = float(errors.max_error.max())
        shown = measure(operator(t=jnp.array([1.15, 1.35, 1.45]))).relative_l2
        found |= {f"relative l2, t = {t}": float(e) for t, e in zip((1.15, 1.35, 1.45), shown, strict=True)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("names", nargs="*", default=list(PRESETS), help="presets; all if none is given")
    parser.add_argument("--train-only", action="store_true")
    options = parser.parse_args()
    ew.enable_x64()
    for name in options.names:
        operator = train(name, options.runs / name)
        print(name, operator.result, operator.stats, flush=True)
        if options.train_only:
            continue
        stats = {**operator.stats, "command": command(name), "measured": measured(operator)}
        dataclasses.replace(operator, stats=stats).save(folder(name), overwrite=True)
        print(stats["measured"], flush=True)


if __name__ == "__main__":
    main()
