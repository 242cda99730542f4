"""The system calls that a worker may not make, as a classic BPF program for ``bwrap --seccomp``.

A deny list: torch, CUDA and NCCL need too many calls for an allow list to be kept right. What is
denied reaches other processes, the kernel itself or new namespaces, or takes of what the whole host
has a fixed number of; no lab needs any of it. Sockets are of the families that a network namespace
divides: one of another, such as AF_VSOCK, would reach the host and the workers of others.
"""

import errno
import platform
import socket
import struct

# name: (x86_64, aarch64); None where the architecture has no such call.
DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "fanotify_init": (300, 262),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "iopl": (172, None),
    "ioperm": (173, None),
    "memfd_secret": (447, 447),
    # No namespace divides what these take: all the host's together, or all of one user.
    "io_setup": (206, 0),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
}
# Anonymous memory files escape a limit kept by watching processes; CUDA may want them.
DENIED_ON_CPU: dict[str, tuple[int | None, int | None]] = {"memfd_create": (319, 279)}
# Their first argument is a family.
SOCKETS: dict[str, tuple[int, int]] = {"socket": (41, 198), "socketpair": (53, 199)}
FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
X32_BIT = 0x40000000

# Where fields of struct seccomp_data begin; of an argument the lower half, all that a family is.
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
RETURN = 0x06  # BPF_RET | BPF_K
ALLOW = 0x7FFF0000
KILL = 0x80000000
REFUSE = 0x00050000 | errno.EPERM


def program(*, cuda: bool) -> bytes | None:
    """Return the filter for this machine, None on an architecture whose numbers are not here."""
    if platform.machine() not in ARCHITECTURES:
        return None
    column, audit = ARCHITECTURES[platform.machine()]
    denied = DENIED if cuda else DENIED | DENIED_ON_CPU
    numbers = [n for pair in denied.values() if (n := pair[column]) is not None]
    code = [
        _op(LOAD, ARCHITECTURE),
        _op(EQUAL, audit, 1, 0),
        _op(RETURN, KILL),
        _op(LOAD, NUMBER),
    ]
    # Jumps count the instructions between: the last two refuse and allow.
    sockets, families = len(SOCKETS), len(FAMILIES)
    rest = len(numbers) + sockets + 2 + families
    code.append(_op(AT_LEAST, X32_BIT, rest, 0))
    for index, number in enumerate(numbers, 1):
        code.append(_op(EQUAL, number, rest - index, 0))
    for index, pair in enumerate(SOCKETS.values(), 1):
        code.append(_op(EQUAL, pair[column], sockets - index + 1, 0))
    code.append(_op(RETURN, ALLOW))
    code.append(_op(LOAD, FIRST_ARGUMENT))
    for index, family in enumerate(FAMILIES, 1):
        code.append(_op(EQUAL, family, families - index + 1, 0))
    return b"".join((*code, _op(RETURN, REFUSE), _op(RETURN, ALLOW)))


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
