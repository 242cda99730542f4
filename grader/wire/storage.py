"""The bytes under a tensor: what crosses the wire, and what a view shares with its neighbours."""

import contextlib
import ctypes
import gc
from typing import Any

import torch
from torch import Tensor


def as_bytes(tensor: Tensor) -> Tensor:
    """Return the elements of a CPU tensor, in order, as a flat uint8 tensor."""
    flat = tensor.contiguous().reshape(-1)
    # One element is contiguous whatever its stride is, but is viewed as bytes with 1 alone.
    return flat.as_strided(flat.shape, (1,)).view(torch.uint8)


def whole_storage(tensor: Tensor) -> Tensor:
    """Return every byte of the storage under a tensor, as a flat uint8 view of it."""
    flat = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return flat.set_(tensor.untyped_storage())  # pyright: ignore[reportArgumentType]


def odd_tensor(tensor: Tensor) -> str:
    """Return what keeps a tensor from crossing as plain bytes, or an empty string."""
    if tensor.layout != torch.strided:
        return f"{str(tensor.layout).removeprefix('torch.')} tensor"
    if tensor.is_quantized:
        return "quantized tensor"
    if tensor.is_nested:
        return "nested tensor"
    if tensor.device.type not in ("cpu", "cuda"):
        return f"tensor on {tensor.device.type}"
    return ""


def place(tensor: Tensor, device: torch.device) -> Tensor:
    """Return the tensor on the device, a view still a view with its neighbours around it."""
    if device.type == "cpu":
        return tensor
    storage = whole_storage(tensor).to(device).view(tensor.dtype)
    return storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def content(item: Any) -> Any:
    """Return what a watched argument holds: every byte under a tensor, a generator's state.

    Of lists, tuples and dictionaries, what their items hold; anything else as it is.
    """
    if isinstance(item, Tensor):
        return whole_storage(item)
    if isinstance(item, torch.Generator):
        return item.get_state()
    if type(item) in (list, tuple):
        return type(item)(map(content, item))
    if type(item) is dict:
        return {key: content(value) for key, value in item.items()}
    return item


def trim() -> None:
    """Give the kernel back what nobody uses, as far as the C library can."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def held_bytes(device: torch.device) -> int:
    """Return the bytes of all storages on the device that a tensor of this process still uses."""
    gc.collect()
    # By type: an object of the submission may answer isinstance with code of its own.
    tensors = [item for item in gc.get_objects() if issubclass(type(item), Tensor)]
    strided = [tensor for tensor in tensors if tensor.layout == torch.strided]
    # A tensor of torch's compiler says it is on a device; its storage says that there is none.
    storages = [tensor.untyped_storage() for tensor in strided]
    there = [storage for storage in storages if storage.device.type == device.type]
    return sum({storage.data_ptr(): storage.nbytes() for storage in there}.values())
