"""`python -m executor`, and the `executor` command."""

from __future__ import annotations

import sys

from executor.module_bundle import use_bundle


def main() -> None:
    use_bundle()
    from executor.surfaces.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
