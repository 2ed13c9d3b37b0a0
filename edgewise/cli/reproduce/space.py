"""`edgewise reproduce helmholtz`: what it says before, its results in words, and its pictures."""

from typing import Any

import jax.numpy as jnp

from edgewise import plot
from edgewise.cli.output import table
from edgewise.learn.operator import Operator
from edgewise.paper.space import (
    BOX,
    MEMBERS,
    RULE,
    STEPS,
    WAVES,
    Say,
    minutes,
    our_operator,
    papers_recipe,
    run_scattering,
)
from edgewise.solution import Solution

# The member whose fields are drawn: that of the largest error that the paper prints.
SHOWN = 2
# Points along the side of its picture.
RESOLUTION = 160


def plan(full: bool) -> tuple[float, str]:
    """Minutes, and what they are spent on."""
    ours = (
        "then the training of ours, which takes longer" if full else "and the reference, which takes most of the time"
    )
    return minutes(full), f"{STEPS[full]:,} of the paper's 200,000 steps, {ours}."


def run_experiment(full: bool, seed: int, say: Say) -> dict[str, Any]:
    return run_scattering(our_operator(full, seed, say), papers_recipe(full), RULE, seed=seed, say=say)


def words(report: dict[str, Any]) -> str:
    """The results as Markdown."""
    theirs, ours, reference = report["paper"], report["edgewise"], report["reference"]
    header = ["t", "wave", "the paper", "its recipe here", "edgewise", "total field: its recipe", "edgewise"]
    rows = []
    for wave in WAVES:
        for i, t in enumerate(report["members"]):
            of_paper = theirs.get(wave)
            rows.append(
                [
                    f"{t}",
                    wave,
                    f"{report['printed'][i]:.2%}" if of_paper else "",
                    f"{of_paper['far_field'][i]:.2%}" if of_paper else "",
                    f"{ours[wave]['far_field'][i]:.1e}",
                    f"{of_paper['total_field'][i]:.2%}" if of_paper else "",
                    f"{ours[wave]['total_field'][i]:.1e}",
                ]
            )
    taken = sorted(reference["seconds"])
    nodes = reference["nodes_along_a_side"]
    return f"""Relative l2 errors: of far fields over all directions, and of total fields on the slice y = 0, from -4 to
4. The paper's wave is axial, along (0, 0, 1); the experiment that it cites sends one along the gap, (1, 0, 0), here
transverse.

{table(header, rows)}

- The paper's recipe: {theirs["steps"]:,} of 200,000 steps of Adam, {theirs["seconds"]:.1f} s. A single layer with
  random nodes, for the axial wave alone; its density is read here with an accurate rule.
- edgewise: recipe `{ours["recipe"]}`, {_training(ours)}; one network for every t and every direction. A query, from
  parameters to the far field in all directions, takes {ours["query_seconds"]:.2g} s.
- The reference is `solve` with `Duffy({nodes})`, {reference["num_nodes"]:,} nodes: {taken[len(taken) // 2]:.1f} s for
  both waves at one t, which share a matrix. That of `Duffy(12)` is wrong by up to 2e-6 for axial far fields, 6e-6 for
  transverse ones and 2e-5 on the slice: errors that small are its own.

Seconds of training have compilation in them where `fit` trained, and only there."""


def _training(ours: dict[str, Any]) -> str:
    known = [f"{ours['steps']} steps"] if ours["steps"] else []
    known += [f"{ours['seconds']:.3g} s of training"] if ours["seconds"] else []
    known += [f"on {ours['device']}"] if ours["device"] else []
    return ", ".join(known) or "trained before"


def figures(operators: dict[str, Operator], references: dict[str, list[Solution]]) -> dict[str, Any]:
    """By the names of their files."""
    far = {}
    for wave, direction in WAVES.items():
        for t, truth in zip(MEMBERS, references[wave], strict=True):
            lines = {"reference": truth, "edgewise": operators["edgewise"](t=t, direction=jnp.array(direction))}
            if wave == "axial":
                lines["the paper's recipe"] = operators["paper"](t=t)
            far[f"{wave}, t = {t}"] = lines
    t, truth = MEMBERS[SHOWN], references["axial"][SHOWN]
    return {
        "far_fields.png": plot.far_field_lines_figure(far, columns=len(MEMBERS)),
        **{
            f"{name}.png": plot.slice_figure(
                operator(t=t), box=BOX, resolution=RESOLUTION, truth=truth, name="prediction"
            )
            for name, operator in operators.items()
        },
    }
