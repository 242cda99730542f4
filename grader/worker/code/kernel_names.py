"""Names that kernels use, as data: numbers, other kernels, and what Triton itself has.

One side tells what a name stands for, the other finds it again in its own Triton. What is neither
a plain value nor one of Triton's own is not told.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

MODULES = (
    *("triton", "triton.language", "triton.language.math", "triton.language.extra"),
    *("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"),
    *("triton.language.extra.cuda", "triton.language.core", "triton.language.standard"),
)
CLASSES = frozenset(
    (
        *("block_type", "constexpr", "dtype", "pointer_type", "range", "static_range", "tensor"),
        *("tensor_descriptor", "tuple", "PropagateNan"),
    )
)
PLAIN = bool, int, float, str, type(None)


def is_tritons(name: str, value: Any) -> bool:
    """Tell whether a public name of a module of Triton's is for kernels to use."""
    language: Any = sys.modules["triton.language"]
    if name.startswith("_") or isinstance(value, ModuleType):
        return False
    if isinstance(value, type):
        return name in CLASSES
    if isinstance(value, (language.dtype, language.constexpr, *PLAIN)):
        return True
    if getattr(value, "__triton_builtin__", False):
        return True
    kind = type(value)
    return kind.__module__.startswith("triton.runtime.") and kind.__name__ in (
        *("InterpretedFunction", "JITFunction", "ConstexprFunction"),
    )


def find(path: list[str], start: Any) -> Any:
    """Return what a path of names leads to from a module; raises LookupError where to nothing."""
    value = start
    for place, name in enumerate(path):
        inside = isinstance(value, ModuleType) and value.__name__ in MODULES
        module = vars(value).get(name) if inside else None
        last = place == len(path) - 1
        if inside and not last and isinstance(module, ModuleType):
            value = module
        elif inside and (is_tritons(name, module) or _is_libdevices(value, name, module)):
            value = module
        elif not inside and last and _is_member(name, value):
            value = getattr(value, name)
        else:
            raise LookupError(f"{'.'.join(path)}: Triton has nothing like it for a kernel")
    return value


def _is_member(name: str, value: Any) -> bool:
    """Tell whether an attribute is one of a type, ``tl.float32.scalar``, or of a choice."""
    is_type = isinstance(value, sys.modules["triton.language"].dtype)
    is_choice = getattr(value, "__name__", "") == "PropagateNan" and name in ("ALL", "NONE")
    return is_choice or (is_type and not name.startswith("_"))


def _is_libdevices(module: Any, name: str, value: Any) -> bool:
    """Tell whether a name is a function of libdevice, which the interpreter takes from numpy."""
    is_function = callable(value) and not isinstance(value, type)
    return module.__name__.endswith(".libdevice") and is_function and not name.startswith("_")


def module(name: str) -> ModuleType:
    """Return a module of Triton's by its name; raises LookupError for any other."""
    if name not in MODULES:
        raise LookupError(f"{name}: no module for kernels")
    return importlib.import_module(name)


def known() -> dict[int, tuple[str, str]]:
    """Return what Triton has for kernels: module and name, by the object's id."""
    found: dict[int, tuple[str, str]] = {}
    for place in reversed(MODULES):
        space = sys.modules.get(place)
        for name, value in vars(space).items() if space else ():
            if not isinstance(value, PLAIN) and (
                is_tritons(name, value) or _is_libdevices(space, name, value)
            ):
                found[id(value)] = place, name
    return found
