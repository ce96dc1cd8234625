"""`python -m executor`, and the `executor` command."""

from __future__ import annotations

import sys

from executor.module_bundle import use_bundle

DAEMONS = ("up", "serve", "worker")  # the commands that import as much as the bundle has, and release it


def main() -> None:
    if sys.argv[1:2] and sys.argv[1] in DAEMONS:
        use_bundle()
    from executor.surfaces.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
