"""The Vercel AI SDK with the TypeScript package and a scripted model, against a daemon."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from openapi_trials.packages import install_npm, npm_version, run

from tests.support.daemon import Daemon
from tests.support.packages import node, npm

HERE = Path(__file__).parent
COMPILER = """{"compilerOptions": {"target": "ES2022", "module": "nodenext", "strict": true, "types": [],
"lib": ["ES2023", "DOM", "DOM.AsyncIterable"], "skipLibCheck": true}, "files": ["vercel_ai.ts"]}"""


def attempt(folder: Path) -> str:
    """The version, and what the tool returned to the model."""
    package = folder / "package"
    subprocess.run([sys.executable, HERE.parent / "sdk-typescript", package], check=True)
    run([*npm(), "pack", "--silent"], package)  # what would be published
    modules = install_npm(folder, "ai@latest", "typescript@5", *map(str, package.glob("*.tgz")))
    shutil.copy(HERE / "vercel_ai.ts", folder)
    (folder / "tsconfig.json").write_text(COMPILER, encoding="utf-8")
    run([node(), modules / "typescript" / "bin" / "tsc"], folder)
    daemon = Daemon(folder / "package")
    daemon.start()
    try:
        daemon.post("/v1/sources/demo")
        said = json.loads(run([node(), "vercel_ai.js"], folder, daemon.environ))
    finally:
        daemon.stop()
    assert said == {"text": "done", "got": "2"}, said
    return f"{npm_version(modules, 'ai')} got {said['got']}"
