"""What one launch of a kernel moved and computed, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self, cast

MOST = 1 << 60
MOST_NAME = 60
MOST_KINDS = 40  # of operations
MOST_CONFIGS, MOST_CONFIG = 100, 200  # of one kernel; characters


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of one tensor, or of several that share memory.

    Requested are those of all lanes that a mask lets through; ``read_once`` is each byte that the
    launch reads before it has written it, ``written_once`` each that it writes.
    """

    name: str
    loaded: int
    stored: int
    atomic: int  # each of these bytes is read and written
    read_once: int
    written_once: int


@dataclass(frozen=True, slots=True)
class Metered:
    """A launch, exactly: requested bytes, those of each tensor, and numbers of operations.

    ``flops`` are additions and products of floats by dtype, ``dots`` those of ``tl.dot`` by what is
    multiplied, ``special`` exponentials, roots, divisions and the like by name. ``partial``: some
    lanes point to no tensor that was passed, and no tensor counts them.
    """

    kernel: str
    line: int
    grid: tuple[int, ...]
    times: int  # that it was launched alike
    loaded: int
    stored: int
    atomic: int
    tensors: tuple[Traffic, ...] = ()
    flops: dict[str, int] = field(default_factory=dict[str, int])
    dots: dict[str, int] = field(default_factory=dict[str, int])
    special: dict[str, int] = field(default_factory=dict[str, int])
    partial: bool = False

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """Take in what a worker tells; raises ValueError if it has not the form of ours."""
        try:
            return cls(
                kernel=str(told["kernel"])[:MOST_NAME],
                line=_whole(told["line"]),
                grid=tuple(_whole(size) for size in told["grid"][:3]),
                times=_whole(told["times"]),
                loaded=_whole(told["loaded"]),
                stored=_whole(told["stored"]),
                atomic=_whole(told["atomic"]),
                tensors=tuple(_traffic(item) for item in told["tensors"]),
                flops=_counts(told["flops"]),
                dots=_counts(told["dots"]),
                special=_counts(told["special"]),
                partial=told["partial"] is True,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from None

    @property
    def requested(self) -> int:
        """The bytes that are asked for: what moves where no cache helps."""
        return self.loaded + self.stored + 2 * self.atomic

    @property
    def least(self) -> int:
        """The bytes that must move however large a cache is."""
        return sum(tensor.read_once + tensor.written_once for tensor in self.tensors)

    @property
    def operations(self) -> int:
        """FLOPs in all; special functions are none."""
        return sum(self.flops.values()) + sum(self.dots.values())

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Tuned:
    """A kernel that is left to Triton's autotuner: what it tunes anew for, what it may choose."""

    kernel: str
    line: int
    keys: tuple[str, ...]
    configs: tuple[str, ...]

    @classmethod
    def of(cls, told: object) -> Self:
        """Take in what a worker tells; raises ValueError if it has not the form of ours."""
        match told:
            case {"kernel": str(kernel), "line": int(line), "keys": list(), "configs": list()}:
                facts = cast(dict[str, list[object]], told)
                keys, configs = (
                    tuple(str(item)[:MOST_CONFIG] for item in facts[name][:MOST_CONFIGS])
                    for name in ("keys", "configs")
                )
                return cls(kernel[:MOST_NAME], _whole(line), keys, configs)
            case _:
                raise ValueError(told)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)


def _traffic(item: Any) -> Traffic:
    bytes_ = ("loaded", "stored", "atomic", "read_once", "written_once")
    return Traffic(str(item["name"])[:MOST_NAME], *(_whole(item[name]) for name in bytes_))


def _counts(value: Any) -> dict[str, int]:
    pairs = cast(dict[str, Any], value).items()
    return {str(name)[:20]: _whole(count) for name, count in [*pairs][:MOST_KINDS]}


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < MOST:
        raise ValueError(value)
    return value
