"""Memory that the judge and one worker both map: a memory file on a CPU, CUDA pages on a GPU.

The judge makes it and hands the descriptor over; either side sees what the other writes. CUDA's
IPC handles do not cross into a sandbox, descriptors of its virtual memory do (``cuMemCreate``). It
is reached through ctypes, since the driver is there wherever a GPU is.
"""

import contextlib
import ctypes
import fcntl
import mmap
import os
from functools import cache
from typing import Any, Self

import torch

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
PINNED, POSIX_FD, ON_DEVICE, READ_WRITE = 1, 1, 1, 3  # constants of cuda.h


class CudaError(RuntimeError):
    """A call of the CUDA driver failed."""


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Allocation(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows_metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *args: Any) -> None:
    code = getattr(_driver(), name)(*args)
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(code, ctypes.byref(text))
        raise CudaError(f"{name}: {(text.value or b'').decode()} ({code})")


class _CudaPages:
    """One mapping of CUDA memory; torch reads it through the array interface."""

    def __init__(self, handle: ctypes.c_uint64, size: int, device: torch.device) -> None:
        self.size = size
        self.pointer = ctypes.c_uint64()
        _call(
            "cuMemAddressReserve",
            ctypes.byref(self.pointer),
            _size(size),
            _size(0),
            _u64(0),
            _u64(0),
        )
        _call("cuMemMap", self.pointer, _size(size), _size(0), handle, _u64(0))
        access = _Access(_Location(ON_DEVICE, device.index or 0), READ_WRITE)
        _call("cuMemSetAccess", self.pointer, _size(size), ctypes.byref(access), _size(1))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        place = (self.pointer.value, False)
        return {"shape": (self.size,), "typestr": "|u1", "data": place, "version": 3}

    def close(self) -> None:
        _call("cuMemUnmap", self.pointer, _size(self.size))
        _call("cuMemAddressFree", self.pointer, _size(self.size))


def _size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def _u64(value: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


class SharedMemory:
    """One end of a piece of shared memory; ``bytes`` is all of it, as a flat uint8 tensor."""

    def __init__(self, fd: int, size: int, device: torch.device) -> None:
        self.fd = fd
        self.size = size
        self._pages: _CudaPages | None = None
        if device.type == "cpu":
            self.bytes = torch.frombuffer(mmap.mmap(fd, size), dtype=torch.uint8)
            return
        torch.zeros(1, device=device)  # makes torch's context the current one
        handle = ctypes.c_uint64()
        source = ctypes.c_void_p(fd)
        _call("cuMemImportFromShareableHandle", ctypes.byref(handle), source, POSIX_FD)
        try:
            self._pages = _CudaPages(handle, size, device)
        finally:
            _call("cuMemRelease", handle)
        self.bytes = torch.as_tensor(self._pages, device=device)

    @classmethod
    def make(cls, size: int, device: torch.device) -> Self:
        """Make at least ``size`` bytes on the device; raises CudaError if they are not free."""
        if device.type == "cpu":
            fd = os.memfd_create("ring", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            os.ftruncate(fd, max(size, 1))
            # A worker that shrank it would kill us when we read it.
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
            return cls(fd, max(size, 1), device)
        torch.zeros(1, device=device)
        wanted = _Allocation(PINNED, POSIX_FD, _Location(ON_DEVICE, device.index or 0))
        grain = ctypes.c_size_t()
        _call("cuMemGetAllocationGranularity", ctypes.byref(grain), ctypes.byref(wanted), 0)
        size = -(-max(size, 1) // grain.value) * grain.value
        handle, fd = ctypes.c_uint64(), ctypes.c_int()
        _call("cuMemCreate", ctypes.byref(handle), _size(size), ctypes.byref(wanted), _u64(0))
        try:
            shared = ctypes.byref(fd)
            _call("cuMemExportToShareableHandle", shared, handle, POSIX_FD, _u64(0))
        finally:
            _call("cuMemRelease", handle)
        return cls(fd.value, size, device)

    def close(self) -> None:
        """Unmap it here; it is gone when the other side has let go of it too."""
        self.bytes = torch.empty(0, dtype=torch.uint8)
        with contextlib.suppress(OSError):
            os.close(self.fd)
        if self._pages is not None:
            self._pages.close()
            self._pages = None
