"""What of a user's environment reaches our processes: one table, and nothing that is not in it.

A shell on a cluster carries settings for other programs: paths of libraries, threads, debuggers,
other people's torch. None of them may change a verdict, and none has to be named here for that:
what is not in ``CROSSES`` stays behind. A script that a student runs (``lab python``, ``trace``,
``notebook``) is theirs and has their whole environment.
"""

import contextlib
import functools
import os
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path

from grader.errors import CannotGrade

LIBRARIES = "LD_LIBRARY_PATH"
VISIBLE = "CUDA_VISIBLE_DEVICES"
ORDER, BY_BUS = "CUDA_DEVICE_ORDER", "PCI_BUS_ID"  # a number means what nvidia-smi means by it
MODEL = "MODEL"
OWN = ("/tmp/", "/dev/")  # a worker has its own
LOADER = Path("/etc/ld.so.cache")  # names the libraries that are found without a setting
SHARED = Path("/tmp")  # whatever TMPDIR each of us has: locks hold for all judges of a machine


class To(StrEnum):
    """Who is started."""

    SESSION = "session"  # and what starts sessions for a class
    WORKER = "worker"
    GPU_WORKER = "worker on a GPU"
    LAUNCHER = "bubblewrap"  # and what becomes another user for it
    TOOL = "tools"  # nvidia-smi, newuidmap
    READER = "readers"  # of code and notebooks
    GIT = "git"  # for a class


@dataclass(frozen=True, slots=True)
class Crossing:
    """Variables that cross, to whom, and why."""

    names: tuple[str, ...]
    to: tuple[To, ...]
    why: str


_HOST = (To.SESSION, To.GPU_WORKER)
CROSSES = (
    Crossing(
        ("PATH",),
        (To.SESSION, To.TOOL, To.GIT),
        "bwrap, nvidia-smi and git are found by it; a worker has one of ours",
    ),
    Crossing(
        ("HOME",),
        (To.SESSION, To.GIT),
        "CUDA keeps compiled code there, ssh its keys; a worker has a folder of its own",
    ),
    Crossing(
        ("TMPDIR",),
        (To.SESSION, To.GIT),
        "as the folder that it came to: /tmp where it cannot be written to",
    ),
    Crossing((MODEL,), (To.SESSION,), "the checkpoint that stands in for a lab's target"),
    Crossing(
        ("INFERLAB_UIDS", "INFERLAB_HIDE_ON_GPU"), (To.SESSION,), "settings of the judge's own"
    ),
    Crossing(
        (LIBRARIES,),
        (To.SESSION, To.WORKER, To.GPU_WORKER, To.LAUNCHER, To.TOOL, To.READER),
        "of its folders those that hold what is needed: Python's own library, the driver, or what "
        "bubblewrap loads; none that holds a library of the system's or of torch's as well",
    ),
    Crossing(
        (VISIBLE,),
        (To.SESSION, To.GPU_WORKER, To.TOOL),
        "which GPUs are ours; to workers by their UUIDs",
    ),
    # Each turns a way between GPUs off that a machine lacks or has broken: only its keeper knows.
    # No result depends on it. What chooses, tunes or prints (NCCL_ALGO, NCCL_DEBUG) stays behind.
    Crossing(
        (
            *("NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE", "NCCL_CUMEM_HOST_ENABLE"),
            *("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"),
            *("NVSHMEM_DISABLE_NVLS", "NVSHMEM_DISABLE_CUDA_VMM", "NVSHMEM_DISABLE_P2P"),
            "TORCH_SYMM_MEM_DISABLE_MULTICAST",
        ),
        _HOST,
        "a way between GPUs that this machine lacks is turned off by who keeps it",
    ),
    Crossing(
        (
            *("SSH_AUTH_SOCK", "http_proxy", "https_proxy", "HTTPS_PROXY"),
            *("all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
        ),
        (To.GIT,),
        "how students' repositories are reached",
    ),
)
SET: Mapping[To, Mapping[str, str]] = {
    To.SESSION: {
        "LANG": "C.UTF-8",
        "USER": "judge",  # else torch asks for the name of an account, which may have none
        "OMP_NUM_THREADS": "1",  # the oracles are small, and the submission wants the cores
        "OPENBLAS_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        ORDER: BY_BUS,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    },
    To.TOOL: {"LC_ALL": "C"},
}
# What a folder of libraries is kept for, and which keep it out: of those the system and torch have
# their own, and a process that is given others may break, or compute otherwise.
_DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
_LAUNCHER = ("libcap.so.2", "libselinux.so.1", "libpcre2-8.so.0")
_FOREIGN = (
    *("ld-linux*", "libc.so*", "libm.so*", "libpthread.so*", "libdl.so*", "librt.so*"),
    *("libstdc++.so*", "libgcc_s.so*", "libgomp*", "libomp*", "libiomp5*", "libmkl_*"),
    *("libopenblas*", "libtorch*", "libc10*", "libcublas*", "libcudart*", "libcudnn*"),
    *("libcufft*", "libcurand*", "libcusolver*", "libcusparse*", "libcupti*", "libnccl*"),
    *("libnvrtc*", "libnvJitLink*", "libnvshmem*"),
)
# What would have meant something to a program of ours.
_MEANT = (
    *("LD_*", "PYTHON*", "PYTEST_*", "OMP_*", "MKL_*", "KMP_*", "GOMP_*", "OPENBLAS_*", "BLIS_*"),
    *("TORCH*", "PYTORCH_*", "ATEN_*", "TRITON_*", "CUDA_*", "CUBLAS_*", "NVIDIA_TF32*", "NCCL_*"),
    *("NVSHMEM_*", "GLOO_*", "HF_*", "TRANSFORMERS_*", "TOKENIZERS_*", "MALLOC_*", "GLIBC_*"),
    *("GCONV_PATH", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_*", "SSLKEYLOGFILE"),
)
_OURS = {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}  # that say nothing else than we do


def crossing(to: To) -> dict[str, str]:
    """Return what crosses to a process, and what is set for it."""
    found = {
        name: os.environ[name]
        for row in CROSSES
        if to in row.to
        for name in row.names
        if name in os.environ
    }
    if to in (To.SESSION, To.GIT):
        found["TMPDIR"] = str(temporary_folder())
    if folders := library_folders(to):
        found[LIBRARIES] = os.pathsep.join(folders)
    else:
        found.pop(LIBRARIES, None)
    return {**found, **SET.get(to, {})}


def library_folders(to: To) -> tuple[str, ...]:
    """Return the folders of LD_LIBRARY_PATH that a process gets."""
    return _kept(to, os.environ.get(LIBRARIES, ""))


@functools.cache
def _kept(to: To, path: str) -> tuple[str, ...]:
    wanted = _wanted(to)
    found = tuple(folder for folder in dict.fromkeys(path.split(":")) if _is_fit(folder, wanted))
    if to in (To.WORKER, To.GPU_WORKER):
        return tuple(folder for folder in found if not folder.startswith(OWN))
    return found


def _wanted(to: To) -> tuple[str, ...]:
    """Return the libraries that a folder is kept for."""
    shared = sysconfig.get_config_var("Py_ENABLE_SHARED")
    python = (str(sysconfig.get_config_var("INSTSONAME")),) if shared else ()
    return {
        To.SESSION: (*python, *_DRIVER, *_LAUNCHER),  # it starts all the others
        To.WORKER: python,
        To.GPU_WORKER: (*python, *_DRIVER),
        To.LAUNCHER: _LAUNCHER,
        To.TOOL: _DRIVER,
        To.READER: python,
        To.GIT: (),
    }[to]


def _is_fit(folder: str, wanted: tuple[str, ...]) -> bool:
    """Tell whether a folder holds what is wanted, and nothing that is not to be had from there."""
    names = _names(folder)
    return not _foreign(names) and any(name in names for name in wanted)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder)) if os.path.isabs(folder) else []
    except OSError:
        return []


def _foreign(names: list[str]) -> list[str]:
    return [name for name in names if any(fnmatch(name, pattern) for pattern in _FOREIGN)]


def assert_driver() -> None:
    """Raise CannotGrade where nothing but a folder that is kept out leads to a GPU's driver."""
    folders = os.environ.get(LIBRARIES, "").split(":")
    holders = [folder for folder in folders if _DRIVER[0] in _names(folder)]
    if not holders or {*holders} & {*library_folders(To.GPU_WORKER)}:
        return
    with contextlib.suppress(OSError):
        if _DRIVER[0].encode() in LOADER.read_bytes():
            return
    beside = next(iter(_foreign(_names(holders[0]))), "what each worker has of its own")
    raise CannotGrade(
        f"the GPU's driver lies in {holders[0]}, beside {beside}: workers are not led there",
        f"let {LIBRARIES} name a folder that holds the driver alone",
    )


def ignored() -> Iterator[str]:
    """Name what is set, would have meant something, and reaches no grading."""
    crossing_names = {name for row in CROSSES for name in row.names}
    for name in sorted(os.environ.keys() - crossing_names - _OURS):
        if any(fnmatch(name, pattern) for pattern in _MEANT):
            yield name
    folders = {folder for folder in os.environ.get(LIBRARIES, "").split(":") if folder}
    if left := len(folders - {*library_folders(To.SESSION)}):
        yield f"{left} of {len(folders)} folders in {LIBRARIES}"
    wanted = os.environ.get("TMPDIR")
    if wanted and Path(wanted).absolute() != temporary_folder():
        yield f"TMPDIR ({temporary_folder()} instead)"


def temporary_folder() -> Path:
    """Return where temporary files lie: what TMPDIR names, or /tmp where that cannot be used."""
    try:
        return Path(tempfile.gettempdir())
    except OSError:
        hint = "free some disk, or set TMPDIR to a folder that can be written to"
        raise CannotGrade("no folder for temporary files can be written to", hint) from None


def lock_folder() -> Path:
    """Return where files lie that judges lock against each other: a disk of this machine's own."""
    return SHARED if os.access(SHARED, os.W_OK | os.X_OK) else temporary_folder()
