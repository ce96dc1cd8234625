"""`python -m executor`, and the `executor` command."""

from __future__ import annotations

import sys


def main() -> None:
    from executor.surfaces.cli.main import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
