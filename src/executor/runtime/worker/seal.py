"""A worker seals itself: no files, no network, no processes, however the code inside got out of its engine.

Every layer is tried on its own and reported; what the platform lacks is said, never assumed. Numbers are the kernel's.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE = 1, 38, 4
_SIGKILL = 9
_CLONE_NEWUSER, _CLONE_NEWNET, _CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000
_LANDLOCK_CREATE, _LANDLOCK_ALLOW, _LANDLOCK_RESTRICT = 444, 445, 446
_LANDLOCK_FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_LANDLOCK_BENEATH, _LANDLOCK_EXECUTE, _LANDLOCK_READ, _LANDLOCK_LIST = 1, 1, 4, 8

# Denied system calls by name: (x86_64, aarch64). None: the architecture has no such call.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # network
    "socket": (41, 198), "socketpair": (53, 199), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202),
    "accept4": (288, 242), "connect": (42, 203),
    # processes
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None), "kill": (62, 129),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "process_madvise": (440, 440), "kcmp": (312, 272),
    # files
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "creat": (85, None), "unlink": (87, None),
    "unlinkat": (263, 35), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None),
    "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36), "mkdir": (83, None), "mkdirat": (258, 34),
    "rmdir": (84, None), "mknod": (133, None), "mknodat": (259, 33), "chmod": (90, None), "fchmod": (91, 52),
    "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "truncate": (76, 45), "chdir": (80, 49), "fchdir": (81, 50), "memfd_create": (319, 279), "setxattr": (188, 5),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "inotify_init1": (294, 26),
    "fanotify_init": (300, 262), "utimensat": (280, 88),
    # the kernel and its namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "move_mount": (429, 429),
    "open_tree": (428, 428), "mount_setattr": (442, 442), "bpf": (321, 280), "perf_event_open": (298, 241),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "iopl": (172, None),
    "ioperm": (173, None), "personality": (135, 92), "syslog": (103, 116), "acct": (163, 89), "quotactl": (179, 60),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    # identity and shared memory
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "capset": (126, 91),
    "mq_open": (240, 180), "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190),
}  # fmt: skip
_ARCHITECTURES = {"x86_64": (0, 0xC000003E, 317, 56), "aarch64": (1, 0xC00000B7, 277, 220)}
_CLONE3 = 435
_CLONE_THREAD = 0x10000
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_X32 = 0x40000000


class Layer(NamedTuple):
    name: str
    active: bool
    detail: str


class Room(NamedTuple):
    """What a process that seals itself leaves to the program it then becomes: files to read and run, system calls."""

    readable: tuple[str, ...]
    calls: frozenset[str]


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _must(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def die_with_parent() -> None:
    """The parent's end also shows as the end of its sockets; this holds even while all threads are stuck."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def apply(*, data_bytes: int, room: Room | None = None) -> list[Layer]:
    """To be called before threads start: they inherit what is set here. Every later file or socket is refused.

    With `room` the process may still execute another program, which inherits the rest.
    """
    steps: list[tuple[str, Callable[[], str]]] = [
        ("rlimits", lambda: _rlimits(data_bytes, writes=room is not None)),
        ("network namespace", _network_namespace),
        ("no new privileges", _no_new_privileges),
        ("landlock", lambda: _landlock(room.readable if room else ())),
        ("seccomp", lambda: _seccomp(room.calls if room else frozenset())),
    ]
    return [_try(name, step) for name, step in steps]


def greeting(layers: list[Layer]) -> bytes:
    """The first frame that a sealed process sends."""
    lines = "\n".join(f"{layer.name}\t{int(layer.active)}\t{layer.detail}" for layer in layers).encode()
    return struct.pack("<I", len(lines)) + lines


def _try(name: str, step: Callable[[], str]) -> Layer:
    if sys.platform != "linux" and name != "rlimits":
        return Layer(name, False, f"not available on {sys.platform}")
    try:
        return Layer(name, True, step())
    except (OSError, ValueError, AttributeError, KeyError, ImportError) as error:
        return Layer(name, False, " ".join(str(error).split()) or type(error).__name__)


def _rlimits(data_bytes: int, *, writes: bool = False) -> str:
    import resource

    limits = [(resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, 256)]
    limits += [] if writes else [(resource.RLIMIT_FSIZE, 0)]
    if sys.platform == "linux":
        limits += [(resource.RLIMIT_DATA, data_bytes)]
    for kind, value in limits:
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    return f"no core dumps, {'' if writes else 'no file writes, '}at most {data_bytes >> 20} MiB of data"


def _network_namespace() -> str:
    libc = _libc()
    _must(libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET | _CLONE_NEWIPC), "unshare")
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # unshare made it unreadable to its own user, who measures its memory
    return "an empty network and IPC namespace"


def _no_new_privileges() -> str:
    _must(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    return "can't gain privileges (no_new_privs)"


def _landlock(readable: tuple[str, ...] = ()) -> str:
    libc = _libc()
    abi = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        raise OSError(errno.ENOSYS, "the kernel has no landlock")
    files = _LANDLOCK_FILES[max(version for version in _LANDLOCK_FILES if version <= abi)]
    fields = [files] + ([3] if abi >= 4 else []) + ([3] if abi >= 6 else [])
    rules = struct.pack(f"<{len(fields)}Q", *fields)
    descriptor = _must(libc.syscall(_LANDLOCK_CREATE, rules, ctypes.c_size_t(len(rules)), 0), "landlock")
    try:
        for path in readable:
            _allow(libc, descriptor, path)
        _must(libc.syscall(_LANDLOCK_RESTRICT, descriptor, 0), "landlock")
    finally:
        os.close(descriptor)
    return (
        ("no files but the program's own" if readable else "no files")
        + (", no TCP" if abi >= 4 else "")
        + f" (version {abi})"
    )


def _allow(libc: ctypes.CDLL, ruleset: int, path: str) -> None:
    """Read and execute, beneath a directory or of one file. What is not there needs no leave."""
    try:
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        folder = _LANDLOCK_LIST if os.path.isdir(path) else 0  # noqa: PTH112 - pathlib is not loaded here
        rule = struct.pack("<Qi", _LANDLOCK_EXECUTE | _LANDLOCK_READ | folder, target)
        _must(libc.syscall(_LANDLOCK_ALLOW, ruleset, _LANDLOCK_BENEATH, rule, 0), f"landlock: {path}")
    finally:
        os.close(target)


def _seccomp(allowed: frozenset[str] = frozenset()) -> str:
    column, audit, number, clone = _ARCHITECTURES[os.uname().machine]
    program = _filter(column, audit, clone, allowed)
    code = ctypes.create_string_buffer(program)
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(code)))
    _must(_libc().syscall(number, 1, 0, header), "seccomp")
    refused = sum(1 for name, pair in _DENIED.items() if pair[column] is not None and name not in allowed)
    return f"{refused} system calls refused"


def _filter(column: int, audit: int, clone: int, allowed: frozenset[str] = frozenset()) -> bytes:
    """Another architecture's calls kill the process, a denied call gives EPERM, `clone` may only make threads."""
    lines = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if column == 0:
        lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name, pair in _DENIED.items():
        denied = pair[column]
        if denied is not None and name not in allowed:
            lines += [(_EQUAL, 0, 1, denied), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    lines += [
        (_EQUAL, 0, 1, _CLONE3),  # its flags lie in memory, out of a filter's sight; libc then uses clone
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_EQUAL, 0, 4, clone),
        (_LOAD, 0, 0, 16),
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)
