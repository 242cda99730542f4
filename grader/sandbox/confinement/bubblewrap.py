"""The command line of bubblewrap: what a worker sees, and the walls around it.

As root the view is built in two steps: a first bubblewrap, still root, binds the folders (some may
lie under folders that only root may enter), drops to a user of the sandbox's own (``users``), and a
second one makes the namespaces. An account with subordinate ids does the same where it is root; any
other needs only the second.
"""

import os
import sys
import sysconfig
from pathlib import Path

from grader import ROOT
from grader.environment import BY_BUS, ORDER, VISIBLE, To, crossing, library_folders
from grader.sandbox.confinement import gpu, launcher, seccomp, users
from grader.sandbox.confinement.launcher import Launcher
from grader.sandbox.confinement.users import NOBODY, Block

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives")
SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
SCRATCH_BYTES = str(1 << 30)  # of /tmp, and of /dev/shm
SCRATCH = ("--size", SCRATCH_BYTES, "--perms", "1777", "--tmpfs", "/tmp")
BECOME = ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def worker_environment(device: str, home: str) -> dict[str, str]:
    """Return the whole environment of a worker."""
    env = {
        "HOME": home,
        "TMPDIR": home,
        "USER": "student",
        "PATH": "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TRITON_CACHE_DIR": f"{home}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{home}/inductor",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        "NCCL_SOCKET_IFNAME": "lo",
        "GLOO_SOCKET_IFNAME": "lo",
        # What is forked has imported all this, started no thread of numpy's and touched no GPU.
        "OPENBLAS_NUM_THREADS": "1",
        "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    }
    kept = crossing(_kind(device))
    if device == "cpu":
        return kept | env | {"TRITON_INTERPRET": "1", VISIBLE: ""}
    # Inductor would start a process for each core, which a worker's limits do not allow.
    env |= {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    if visible := kept.pop(VISIBLE, ""):
        kept |= {VISIBLE: ",".join(gpu.chosen() or [visible]), ORDER: BY_BUS}
    return kept | env


def _kind(device: str) -> To:
    return To.WORKER if device == "cpu" else To.GPU_WORKER


def confine(
    command: list[str],
    binds: list[tuple[Path, str]],
    device: str,
    *,
    divided: bool,
    forks: bool = False,
) -> tuple[list[str], list[int]]:
    """Return the command line that runs ``command`` confined, and the descriptors that it needs.

    What ``forks`` workers lacks what they then do themselves: system calls are not filtered, and
    namespaces can be made. If users are ``divided`` it may become any of its block, and no other.
    """
    found = launcher.find()
    assert found is not None
    bwrap = found.path
    folders = installation(device)
    view = ["--tmpfs", "/", *SCRATCH, *_view(folders, binds)]
    block = users.take(forks=forks) if divided else None
    passed = block.descriptors if block else []
    walls = _walls(device, block)
    code = None if forks else seccomp.program(cuda=device != "cpu")
    if code is not None:
        passed.append(_memory_file(code))
        walls += ["--seccomp", str(passed[-1])]
    if not forks:
        walls += ["--disable-userns"]
    if os.geteuid() != 0 and block is None:
        fd = _arguments([*view, *walls])
        return [bwrap, "--args", str(fd), "--", *command], [*passed, fd]
    outer = [*view, "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--die-with-parent"]
    # A pid namespace of its own: a root monitor could not signal what has become unprivileged,
    # but when its namespace ends, all in it ends.
    outer += ["--unshare-pid", *BECOME, *_own_libraries(found)]
    if block is not None:  # open until the sandbox has ended, but not in there
        outer += ["--sync-fd", str(block.lock)]
    inner = ["--ro-bind", "/", "/", *SCRATCH]
    for folder in folders:  # what the fresh /tmp has covered
        inner += ["--ro-bind", folder, folder] if folder.startswith("/tmp/") else []
    inner += walls
    first = _arguments(outer)
    second = _arguments(inner)
    drop = users.become(block.first if block else NOBODY)
    line = [*block.enter] if block else []
    line += [bwrap, "--args", str(first), "--", *drop, bwrap, "--args", str(second), "--", *command]
    return line, [*passed, first, second]


def installation(device: str) -> list[str]:
    """Return the folders of the system and of Python in view, none inside another."""
    python = Path(sys.executable).resolve().parent.parent
    folders = [*SYSTEM, sys.prefix, sys.base_prefix, str(python)]
    if device != "cpu":
        folders += ["/sys", "/usr/local/nvidia", "/usr/local/cuda", "/opt/cuda"]
    folders += library_folders(_kind(device))
    kept: list[str] = []
    for folder in dict.fromkeys(folders):
        if Path(folder).exists() and not any(Path(folder).is_relative_to(k) for k in kept):
            kept.append(folder)
    return kept


def _view(folders: list[str], binds: list[tuple[Path, str]]) -> list[str]:
    """Return the options that make up the worker's file system."""
    args: list[str] = []
    for folder in folders:
        path = Path(folder)
        if path.is_symlink() and path.resolve().is_relative_to("/usr"):
            args += ["--symlink", os.readlink(folder), folder]
        else:
            args += [*_parents(folder), "--ro-bind", folder, folder]
    for file in SYSTEM_FILES:
        args += ["--ro-bind-try", file, file]
    for hidden in _ours():
        if any(hidden.is_relative_to(folder) for folder in folders):
            args += ["--tmpfs", str(hidden)]
    for source, target in binds:
        args += [*_parents(target), "--ro-bind", str(source), target]
    return [*args, "--dir", "/dev", "--dir", "/proc"]


def _ours() -> list[Path]:
    """Return the folders of the project and of an installed copy: they are covered if in view."""
    places = {ROOT, *(Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib"))}
    names = ("grader", "bench", "reference", "solutions", "labs", "tests", ".git")
    return [place / name for place in sorted(places) for name in names if (place / name).exists()]


def _parents(path: str) -> list[str]:
    """Return options that make the folders above a mount point, open to every uid."""
    args: list[str] = []
    for parent in reversed(Path(path).parents[:-1]):
        args += ["--perms", "0755", "--dir", str(parent)]
    return args


def _own_libraries(bwrap: Launcher) -> list[str]:
    """Return binds for a bubblewrap that is not installed in the system's folders."""
    folders = [*bwrap.folders, *library_folders(To.LAUNCHER)]
    args: list[str] = []
    for folder in dict.fromkeys(folders):
        if not Path(folder).is_relative_to("/usr") and Path(folder).is_dir():
            args += [*_parents(folder), "--ro-bind", folder, folder]
    return args


def _walls(device: str, block: Block | None) -> list[str]:
    """Return the options for namespaces, private mounts and environment."""
    args = ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if block is not None and block.namespace is not None:
        args += ["--userns", str(block.namespace), *BECOME, "--unshare-cgroup-try"]
        args += [f"--unshare-{kind}" for kind in ("ipc", "pid", "net", "uts")]
    else:
        args += ["--unshare-all", "--unshare-user"]
        args += ["--uid", str(NOBODY), "--gid", str(NOBODY)] if block is not None else []
    args += ["--proc", "/proc", "--dev", "/dev"]
    if device != "cpu":
        for node in gpu.device_nodes():
            args += ["--dev-bind", str(node), str(node)]
    args += ["--size", SCRATCH_BYTES, "--perms", "1777", "--tmpfs", "/dev/shm"]
    # All of the host take their terminals out of one number: a worker gets none.
    args += ["--size", "4096", "--tmpfs", "/dev/pts", "--remount-ro", "/dev/pts"]
    args += ["--remount-ro", "/dev", "--remount-ro", "/"]
    args += ["--chdir", "/tmp", "--hostname", "worker", "--clearenv"]
    for name, value in worker_environment(device, "/tmp").items():
        args += ["--setenv", name, value]
    return args


def _arguments(options: list[str]) -> int:
    return _memory_file("".join(f"{option}\0" for option in options).encode())


def _memory_file(data: bytes) -> int:
    fd = os.memfd_create("args")
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
