"""What an agent may have made of the `.git` of its working tree, before the daemon's git looks at it."""

from __future__ import annotations

import os
from pathlib import Path

REDIRECTS = ("commondir", "objects/info/alternates", "objects/info/http-alternates")


def is_plain_repository(work: Path) -> bool:
    """A repository of its own. Links and redirections could lead git to one that the agent itself can't read."""
    git = work / ".git"
    if git.is_symlink() or not git.is_dir() or any(os.path.lexists(git / one) for one in REDIRECTS):
        return False
    return not any(
        Path(folder, name).is_symlink() for folder, names, files in os.walk(git) for name in (*names, *files)
    )
