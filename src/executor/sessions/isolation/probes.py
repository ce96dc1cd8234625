"""Which isolations this machine really has, found by running them."""

from __future__ import annotations

from dataclasses import dataclass

from executor.sessions.isolation import limits, sandbox
from executor.sessions.protocol.host_settings import IsolationMode


@dataclass(frozen=True)
class Layer:
    """`problem` is empty if it works; `hint` says what would make it work."""

    name: str
    detail: str
    problem: str = ""
    hint: str = ""


def probe_sandbox() -> Layer:
    if reason := sandbox.why_unavailable():
        return Layer("sandbox", "", reason, sandbox.remedy(reason))
    return Layer("sandbox", "bubblewrap: no network, own processes, only the working directory")


def probe_limits() -> Layer:
    group = limits.create_group({"processes": 16, "memory_bytes": 64 * 2**20})
    if group is None:
        return Layer("limits", "the supervisor watches processes and memory (no cgroup can be created)")
    group.remove()
    return Layer("limits", "the kernel limits processes and memory (cgroup)")


def available_modes() -> list[IsolationMode]:
    """`strict` depends on a Unix user, and is checked when one is used."""
    modes: list[IsolationMode] = ["simple", "insulated"]
    return modes if sandbox.why_unavailable() else [*modes, "sandbox"]
