"""Runs the cases named, or all, and writes one JSON file."""

import argparse
import sys
from pathlib import Path

import edgewise as ew
from benchmarks import (
    batch_operator,
    batch_solve,
    evaluation,
    many_parameters,
    operators,
    papers_step,
    scattering,
    space,
    space_operators,
    startup,
    trust,
    twenty_coefficients,
    wave_operators,
)
from benchmarks.harness import environment, write_json

CASES = {
    "batch_operator": batch_operator,
    "batch_solve": batch_solve,
    "evaluation": evaluation,
    "many_parameters": many_parameters,
    "operators": operators,
    "papers_step": papers_step,
    "scattering": scattering,
    "space": space,
    "space_operators": space_operators,
    "startup": startup,
    "trust": trust,
    "twenty_coefficients": twenty_coefficients,
    "wave_operators": wave_operators,
}


def main(args: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(CASES)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: whether it runs, not how fast")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks.json"))
    options = parser.parse_args(args)
    unknown = [name for name in options.names if name not in CASES]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(CASES)}")

    ew.enable_x64()
    results, failures = {}, []
    for name in options.names or CASES:
        results[name] = CASES[name].run(options.quick)
        print(f"{name}\n" + "\n".join(f"  {line}" for line in CASES[name].describe(results[name])), flush=True)
        required, ratio = results[name].get("required_ratio"), results[name].get("ratio")
        # Tiny sizes say nothing about speed.
        if required and ratio < required and not options.quick:
            failures.append(f"{name}: ratio {ratio:.2f}, expected {required} or more")
        most, error = results[name].get("required_error"), results[name].get("error")
        if most and error > most and not options.quick:
            failures.append(f"{name}: error {error:.1e}, expected {most:.0e} or less")
    write_json(options.out, {**environment(), "quick": options.quick, "results": results})
    print(f"wrote {options.out}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
