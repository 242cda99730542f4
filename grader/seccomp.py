"""The system calls that a worker may not make, as a classic BPF program for ``bwrap --seccomp``.

A deny list: torch, CUDA and NCCL need too many calls for an allow list to be kept right. What is
denied reaches other processes, the kernel itself or new namespaces; no lab needs any of it.
"""

import errno
import platform
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
}
# Anonymous memory files escape a limit kept by watching processes; CUDA may want them.
DENIED_ON_CPU: dict[str, tuple[int | None, int | None]] = {"memfd_create": (319, 279)}

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
X32_BIT = 0x40000000

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
        _op(LOAD, 4),  # seccomp_data.arch
        _op(EQUAL, audit, 1, 0),
        _op(RETURN, KILL),
        _op(LOAD, 0),  # seccomp_data.nr
        _op(AT_LEAST, X32_BIT, len(numbers) + 1, 0),
    ]
    for index, number in enumerate(numbers):
        code.append(_op(EQUAL, number, len(numbers) - index, 0))
    return b"".join((*code, _op(RETURN, ALLOW), _op(RETURN, REFUSE)))


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
