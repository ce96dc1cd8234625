"""A filter for the processes in a sandbox: what an agent's tools don't need and what reaches past a namespace."""

from __future__ import annotations

import errno
import os
import struct

# By name: (x86_64, aarch64).
_DENIED = {
    # keyrings belong to the user, not to the sandbox
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "kexec_load": (246, 104),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "syslog": (103, 116),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438), "kcmp": (312, 272),
    "acct": (163, 89), "quotactl": (179, 60), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
}  # fmt: skip
_SOCKET = (41, 198)
_IOCTL = (16, 29)
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 2, 10, 16)  # Unix, IPv4, IPv6, netlink. Others, such as vsock, know no network namespace
_AUDIT = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000


def filter_program() -> bytes | None:
    """For `bwrap --seccomp`; None on an architecture whose numbers aren't known here."""
    if os.uname().machine not in _AUDIT:
        return None
    column, audit = _AUDIT[os.uname().machine]
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if column == 0:
        lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for numbers in _DENIED.values():
        lines += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _REFUSE)]
    count = len(_FAMILIES)
    lines += [(_EQUAL, 0, count + 2, _SOCKET[column]), (_LOAD, 0, 0, 16)]
    lines += [(_EQUAL, count - number, 0, family) for number, family in enumerate(_FAMILIES)]
    lines += [(_RETURN, 0, 0, _REFUSE)]
    lines += [(_LOAD, 0, 0, 0)]
    lines += [(_EQUAL, 0, 4, _IOCTL[column]), (_LOAD, 0, 0, 24)]
    lines += [(_EQUAL, 1, 0, _TIOCSTI), (_EQUAL, 0, 1, _TIOCLINUX), (_RETURN, 0, 0, _REFUSE)]
    lines += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)
