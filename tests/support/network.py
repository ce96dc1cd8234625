"""Machines as network namespaces, joined by a bridge in the namespace of this process. For root, on Linux.

This process has to be in a namespace of its own (`unshare --net`): nothing of the host's network is touched, and all of
it is gone when the processes are.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

SUBNET = "10.231.0"
HERE = f"{SUBNET}.254"


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class Machine:
    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """Of the command of a process on it."""
        return ["ip", "netns", "exec", self.name]


class Network:
    def __init__(self) -> None:
        self.machines: list[Machine] = []
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        run("ip", "address", "add", f"{HERE}/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")

    def add_machine(self) -> Machine:
        number = len(self.machines) + 1
        made = Machine(f"executor-{os.getpid()}-{number}", f"{SUBNET}.{number}")
        run("ip", "netns", "add", made.name)
        self.machines.append(made)
        run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", made.name)
        run("ip", "link", "set", f"port{number}", "master", "bridge", "up")
        for command in (["address", "add", f"{made.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            run("ip", "-n", made.name, *command)
        run("ip", "-n", made.name, "link", "set", "lo", "up")
        return made

    def cut(self, address: str, port: int) -> None:
        """Nothing of this machine arrives at a port of this process's machine any more, and no one is told."""
        run("iptables", "-I", "INPUT", "-s", address, "-p", "tcp", "--dport", str(port), "-j", "DROP")

    def restore(self, address: str, port: int) -> None:
        run("iptables", "-D", "INPUT", "-s", address, "-p", "tcp", "--dport", str(port), "-j", "DROP")

    def remove(self) -> None:
        for machine in self.machines:
            run("ip", "netns", "delete", machine.name)
