"""`python -m edgewise` is the command `edgewise`."""

import sys


def main() -> int:
    """Runs the command; returns its exit status."""
    try:
        # Here: Ctrl-C may come while this is imported.
        from edgewise.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("\nedgewise: interrupted; nothing was written.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
