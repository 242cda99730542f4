"""Compile recorded launches for GPUs that are not here: no driver is asked, and nothing runs.

``prepare`` is called before the submission is loaded: from then on ``@triton.jit`` makes kernels
that can be compiled, and whoever asks for the GPU of this machine is told of the target.
"""

import contextlib
import importlib
import io
import os
import re
import tempfile
from collections.abc import Generator
from typing import Any

import torch

from grader.worker.compiling.assembly import from_amdgcn, from_ptx

TARGETS = {
    "sm_80": ("cuda", 80, 32),
    "sm_90": ("cuda", 90, 32),
    "sm_100": ("cuda", 100, 32),
    "gfx942": ("hip", "gfx942", 64),
}
MESSAGE = 200  # characters of what a compiler says
# How MLIR tells an error, and how ptxas does.
DIAGNOSTIC = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):\d+: error: (?P<text>.*)$", re.MULTILINE)
PTXAS = re.compile(r"^(?:ptxas )?(?:error|fatal) *: (?P<text>.*)$", re.MULTILINE | re.IGNORECASE)

QUOTED = re.compile(r"^\w+\((?P<quote>['\"])(?P<text>.*)(?P=quote)\)$")  # how it quotes others


class Pretended:
    """Stands where Triton has its driver; each target is a device of its own."""

    def __init__(self, target: str) -> None:
        gpu: Any = importlib.import_module("triton.backends.compiler").GPUTarget
        self._name, self._target = target, gpu(*TARGETS[target])

    def get_current_target(self) -> Any:
        """Return what is compiled for."""
        return self._target

    def get_current_device(self) -> str:
        """Return the target's name: Triton keeps compiled kernels apart by it."""
        return self._name

    def get_current_stream(self, _device: Any) -> int:
        """Return a stream on which nothing will run."""
        return 0

    def get_active_torch_device(self) -> torch.device:
        """Return where tensors lie here."""
        return torch.device("cpu")


class Address:
    """What Triton looks at of a tensor: its dtype, its address and the size of its memory."""

    def __init__(self, dtype: torch.dtype, offset: int, size: int) -> None:
        self.dtype = dtype
        self._offset = offset
        self._size = size

    def data_ptr(self) -> int:
        """Return an address with the same remainder as the tensor's."""
        return (1 << 20) + self._offset

    def ptr_range(self) -> int:
        """Return the bytes of its memory."""
        return self._size


class Compiler:
    """Finds the kernels of the submission, and compiles them."""

    __slots__ = ("_driver", "_facts", "_kernels", "_knobs")

    def __init__(self) -> None:
        os.environ.pop("TRITON_INTERPRET", None)
        importlib.import_module("triton.language")
        self._driver: Any = importlib.import_module("triton.runtime.driver").driver
        self._knobs: Any = importlib.import_module("triton").knobs
        self._driver.set_active(Pretended("sm_90"))
        self._kernels: list[Any] = []
        self._facts: dict[str, dict[str, Any]] = {}  # by hash: what is compiled stays so
        jit: Any = importlib.import_module("triton.runtime.jit").JITFunction
        made, kernels, run = jit.__init__, self._kernels, jit.run

        def init(kernel: Any, *args: Any, **kwargs: Any) -> None:
            made(kernel, *args, **kwargs)
            kernels.append(kernel)

        def compile_only(kernel: Any, *args: Any, warmup: bool, **kwargs: Any) -> Any:
            return run(kernel, *args, warmup=True, **kwargs) if warmup else None

        jit.__init__ = init
        jit.run = compile_only  # a file may launch a kernel as it is loaded

    def compile(self, launch: dict[str, Any], target: str) -> dict[str, Any]:
        """Return what came of one launch: figures of the kernel, or an error with its line."""
        kernel = self._find(launch["kernel"], launch["line"])
        if kernel is None:
            text = "made while other code ran: only kernels at the top level are compiled"
            return {"line": launch["line"], "error": text, "missing": True}
        self._driver.set_active(Pretended(target))
        args = [self._rebuilt(value) for value in launch["args"]]
        kwargs = {name: self._rebuilt(value) for name, value in launch["kwargs"].items()}
        log, said = io.StringIO(), [""]
        try:
            with self._loud(), captured(said), contextlib.redirect_stdout(log):
                compiled = kernel.run(*args, grid=(1, 1, 1), warmup=True, **kwargs)
        except Exception as error:  # the compiler's, of any kind
            return self._told(error, said[0], kernel)
        key = str(compiled.hash)
        if key not in self._facts:  # ptxas speaks the first time alone
            amd = target.startswith("gfx")
            self._facts[key] = from_amdgcn(compiled) if amd else from_ptx(compiled, log)
        return {"line": first_line(kernel), "key": key, **self._facts[key]}

    def _find(self, name: str, line: int) -> Any:
        for kernel in self._kernels:
            if (kernel.fn.__qualname__, kernel.fn.__code__.co_firstlineno) == (name, line):
                return kernel
        return None

    @contextlib.contextmanager
    def _loud(self) -> Generator[None]:
        """Let ptxas say what it used, each time."""
        with self._knobs.nvidia.scope(), self._knobs.compilation.scope():
            self._knobs.nvidia.dump_ptxas_log = True
            self._knobs.compilation.always_compile = True
            yield

    def _rebuilt(self, value: list[Any]) -> Any:
        """Return an argument that Triton takes for the one that was recorded."""
        language: Any = importlib.import_module("triton.language")
        match value:
            case ["value", plain]:
                return plain
            case ["float", text]:
                return float.fromhex(text)
            case ["torch", name]:
                return getattr(torch, name)
            case ["tensor", name, _, offset, size]:
                return Address(getattr(torch, name), offset, size)
            case ["tuple", items]:
                return tuple(self._rebuilt(item) for item in items)
            case ["dtype", name]:
                return language.dtype(name)
            case ["constexpr", inner]:
                return language.constexpr(self._rebuilt(inner))
            case ["kernel", name, line]:
                return self._find(name, line)
            case ["descriptor", base, shape, strides, block, padding]:
                tools: Any = importlib.import_module("triton.tools.tensor_descriptor")
                return tools.TensorDescriptor(self._rebuilt(base), shape, strides, block, padding)
            case _:
                raise TypeError(f"a kernel takes no {value[-1]}")

    def _told(self, error: Exception, said: str, kernel: Any) -> dict[str, Any]:
        """Return the line of the submission and a short form of what a compiler says."""
        inner: Any = error
        while inner.__cause__ is not None and hasattr(inner.__cause__, "node"):
            inner = inner.__cause__
        node: Any = getattr(inner, "node", None)
        if hasattr(node, "lineno"):
            place = next((k for k in self._kernels if k.src == inner.src), kernel)
            reason = inner.error_message or inner.__cause__ or type(inner).__name__
            return {"line": first_line(place) + node.lineno - 1, "error": short(reason)}
        found = DIAGNOSTIC.search(said)
        if found:
            return {"line": int(found["line"]), "error": short(found["text"])}
        found = PTXAS.search(str(error))
        return {"line": first_line(kernel), "error": short(found["text"] if found else error)}


def first_line(kernel: Any) -> int:
    """Return the line of a kernel's ``def``; decorators stand above it."""
    above = (i for i, line in enumerate(kernel.raw_src) if line.lstrip().startswith("def "))
    return int(kernel.starting_line_number) + next(above, 0)


def short(reason: Any) -> str:
    """Return the first line that a compiler says; a long one ends with a sentence or a word."""
    text = str(reason).strip() or type(reason).__name__
    if found := QUOTED.match(text):
        text = found["text"]
    line = text.splitlines()[0]
    if len(line) <= MESSAGE:
        return line
    sentences, _, more = line[:MESSAGE].rpartition(". ")
    return f"{sentences}." if sentences else f"{more[: MESSAGE - 2].rpartition(' ')[0]} …"


@contextlib.contextmanager
def captured(said: list[str]) -> Generator[None]:
    """Keep what C++ writes to standard error inside: Triton's exceptions do not hold it."""
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            said[0] = file.read(1 << 16).decode(errors="replace")
