"""The arguments of bubblewrap: everything that is there inside was named here, and nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from executor.errors import IsolationUnavailable
from executor.private_files import write_private

HOME = "/home/agent"
ENTRANCE = "/run/executor/entrance.py"
GIT_EXCLUDES = "/run/executor/gitignore"
GIT_ENVIRONMENT = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.excludesFile",
    "GIT_CONFIG_VALUE_0": GIT_EXCLUDES,
}
UID = 1000
_NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--uid", str(UID), "--gid", str(UID), "--hostname", "sandbox",
    "--new-session", "--die-with-parent", "--cap-drop", "ALL",
)  # fmt: skip
_ETC = (
    "ssl", "pki", "ca-certificates", "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
    "timezone", "mime.types", "services", "protocols", "terminfo", "bash.bashrc", "profile", "magic",
)  # fmt: skip
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Directories that can't be a working directory: they hold other people's things, or the system.
_REFUSED = (
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys",
    "/tmp", "/usr", "/var",  # noqa: S108
)  # fmt: skip


@dataclass(frozen=True)
class View:
    """What of the host is there inside. Paths are the same inside and outside, except the home."""

    home: str
    writable: Sequence[str]
    readable: Sequence[str] = ()
    hidden: Sequence[str] = ()
    protections: Sequence[str] = ()
    nested_namespaces: bool = False  # for an agent that puts its commands into a sandbox of its own
    temporary_bytes: int = 2 * 2**30
    managed_files: dict[str, str] = field(default_factory=dict)  # inside -> outside


def arguments(view: View, files: Path) -> list[str]:
    """`files` is a directory of the session for what the sandbox needs in `/etc`."""
    found = [bubblewrap(), *_NAMESPACES]
    if not view.nested_namespaces:
        found.append("--disable-userns")
    found += ["--ro-bind", "/usr", "/usr", *_system_directories(), *_etc(files)]
    found += ["--proc", "/proc", "--dev", "/dev"]
    for path in ("/tmp", "/var/tmp", "/run"):  # noqa: S108 - inside, where they are the agent's own
        found += ["--perms", "1777", "--size", str(view.temporary_bytes), "--tmpfs", path]
    found += ["--dir", "/home", "--bind", view.home, HOME]
    found += ["--ro-bind", str(Path(__file__).with_name("entrance.py")), ENTRANCE]
    found += ["--ro-bind", str(files / "gitignore"), GIT_EXCLUDES]
    for path in (*python_directories(), *view.readable):
        found += ["--ro-bind", path, path]
    for path in view.writable:
        found += ["--bind", path, path]
        found += _cover_hidden(path, view.hidden)
    for inside, outside in view.managed_files.items():
        found += ["--ro-bind", outside, inside]
    return [*found, *view.protections]


def bubblewrap() -> str:
    found = shutil.which("bwrap")
    if not found:
        raise IsolationUnavailable(
            "bubblewrap is not installed",
            hint="install the package `bubblewrap`, or choose another isolation",
        )
    return found


def check_root(path: str, hidden: Sequence[str], own: str) -> str:
    """The real path of a directory that an agent is given. `own` is the session's, which may lie in a hidden one."""
    real = os.path.realpath(path)
    if not Path(real).is_dir():
        raise IsolationUnavailable(f"{path} is not a directory")
    if real in _REFUSED or real == os.path.realpath(Path.home()) or _is_inside(os.path.realpath(Path.home()), real):
        raise IsolationUnavailable(
            f"{real} is not a directory for one project: it holds files of the system or all of a user's files",
            hint="start the session in the directory of a project",
        )
    for one in map(os.path.realpath, hidden):
        if _is_inside(real, one) and not _is_inside(real, os.path.realpath(own)):
            raise IsolationUnavailable(f"{real} belongs to the daemon", hint="start the session in another directory")
    return real


@cache
def why_unavailable() -> str:
    """Empty if a sandbox with every layer really starts here; else what went wrong."""
    if sys.platform != "linux":
        return f"bubblewrap does not exist for {sys.platform}"
    try:
        command = [bubblewrap(), *_NAMESPACES, "--disable-userns", "--ro-bind", "/usr", "/usr", *_system_directories()]
    except IsolationUnavailable as error:
        return error.message
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--", "/bin/sh", "-c", "exit 7"]  # noqa: S108
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=30, env={"PATH": os.defpath}, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap did not run: {error}"
    return (
        ""
        if tried.returncode == 7
        else f"bubblewrap failed: {' '.join(tried.stderr.split())[:300] or tried.returncode}"
    )


def remedy(reason: str) -> str:
    if "not installed" in reason:
        return "install the package `bubblewrap`"
    if "uid map" in reason or "Permission denied" in reason or "RTM_NEWADDR" in reason:
        return (
            "this system forbids unprivileged user namespaces: allow them for bubblewrap with an AppArmor profile "
            "(`profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`), or set kernel.unprivileged_userns_clone=1"
        )
    if "Can't mount proc" in reason:
        return "in a container, run it with an unmasked /proc (docker: --security-opt systempaths=unconfined)"
    return "choose another isolation, or run the daemon where bubblewrap works"


def python_directories() -> list[str]:
    """Of the Python that runs the entrance, if it isn't below /usr."""
    return [] if sys.base_prefix.startswith("/usr") else [os.path.realpath(sys.base_prefix)]


def python() -> str:
    return os.path.realpath(sys.executable)


def _system_directories() -> list[str]:
    found: list[str] = []
    for name in _MERGED:
        path = Path("/", name)
        if path.is_symlink():
            found += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            found += ["--ro-bind", str(path), str(path)]
    return found


def _etc(files: Path) -> list[str]:
    """No names of this machine, its users or its resolver: a lookup inside answers nothing."""
    own = {
        "passwd": f"root:x:0:0:root:/root:/bin/sh\nagent:x:{UID}:{UID}:agent:{HOME}:/bin/bash\n",
        "group": f"root:x:0:\nagent:x:{UID}:\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "resolv.conf": "",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    found: list[str] = []
    for name in _ETC:
        path = Path("/etc", name)
        if path.exists():
            found += ["--ro-bind", os.path.realpath(path), str(path)]
    for name, content in own.items():
        write_private(files / name, content, mode=0o644)
        found += ["--ro-bind", str(files / name), f"/etc/{name}"]
    return found


def _cover_hidden(root: str, hidden: Sequence[str]) -> list[str]:
    found: list[str] = []
    for path in map(os.path.realpath, hidden):
        if path != root and _is_inside(path, root) and Path(path).exists():
            found += ["--tmpfs", path, "--remount-ro", path]
    return found


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
