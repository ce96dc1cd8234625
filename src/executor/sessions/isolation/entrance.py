"""The first program inside a sandbox: opens the ports that lead out, hands them over, and becomes the agent.

A program of its own, without imports from Executor. It listens on loopback ports of the sandbox's own network and sends
the listening sockets out over descriptor 3. They are answered outside: no process and no socket file of
the host is needed inside.
"""

import array
import fcntl
import json
import os
import socket
import sys
import termios

OUT = 3


def main() -> None:
    ports, command = json.loads(sys.argv[1]), sys.argv[2:]
    listeners = [socket.create_server(("127.0.0.1", port), backlog=128) for port in ports]
    with socket.socket(fileno=OUT) as out:
        rights = array.array("i", [listener.fileno() for listener in listeners])
        out.sendmsg([b"ready\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if listeners else [])
    for listener in listeners:
        listener.close()
    if os.isatty(0):
        take_terminal()
    os.execvpe(command[0], command, os.environ)


def take_terminal() -> None:
    """The sandbox is a session of its own, so only here can the terminal become that of the shell's jobs."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    main()
