"""Install each framework beside Executor, have its agent call `execute` once, and print what it got.

Exit code 1 if one of them did not get the result.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = {
    "openai-agents": ["openai-agents"],
    "langchain": ["langchain"],
    "pydantic-ai": ["pydantic-ai-slim"],
}

VERCEL = "vercel-ai"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/try-sdk", description="Tries the SDK in agent frameworks.")
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=f"some of {', '.join([*PACKAGES, VERCEL])}")
    wanted = parser.parse_args().frameworks or [*PACKAGES, VERCEL]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            if name == VERCEL:
                failed |= not try_vercel(Path(folder))
                continue
            environment = Path(folder, name)
            venv.create(environment, with_pip=True)
            python = str(environment / "bin" / "python")
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES[name]], check=True)
            # What both need is the version of this checkout.
            path = os.pathsep.join([os.environ["PYTHONPATH"], sysconfig.get_path("purelib")])
            done = subprocess.run(
                [python, "-W", "ignore", str(HERE / "scripted_agents.py"), name],
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            failed |= done.returncode != 0
            print(f"{name}: {done.stdout.strip() if done.returncode == 0 else done.stderr.strip()[-1000:]}")
    return int(failed)


def try_vercel(folder: Path) -> bool:
    from sdk_trials import vercel_ai

    try:
        print(f"{VERCEL}: {vercel_ai.attempt(folder)}")
    except (subprocess.CalledProcessError, AssertionError) as error:
        print(f"{VERCEL}: {(getattr(error, 'stdout', '') or str(error))[-1000:]}")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
