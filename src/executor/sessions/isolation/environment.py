"""An environment from nothing: what the daemon's own holds never reaches an agent."""

from __future__ import annotations

from collections.abc import Sequence

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_LOCAL = "127.0.0.1,localhost"


def clean_environment(home: str, path: Sequence[str] = (), egress: str = "") -> dict[str, str]:
    """`egress` is the address of the filtering proxy, if the session may reach anything."""
    found = {
        "PATH": ":".join((*path, *SYSTEM_PATH)),
        "HOME": home,
        "USER": "agent",
        "LOGNAME": "agent",
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "NO_BROWSER": "1",
        "DO_NOT_TRACK": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    if egress:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            found[name] = egress
        found |= {"NO_PROXY": _LOCAL, "no_proxy": _LOCAL}
    return found
