"""Algorithm and bus bandwidth, as NVIDIA's nccl-tests define them.

The algorithm bandwidth is the full tensor's bytes over the time. The bus bandwidth scales it by
what the busiest link must carry, so that it can be held against the hardware for any group size.
"""

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "send_recv")


def bus_factor(kind: str, world: int) -> float:
    """Return bus bandwidth over algorithm bandwidth for a group of ``world`` ranks."""
    match kind:
        case "all_reduce":
            return 2 * (world - 1) / world
        case "all_gather" | "reduce_scatter":
            return (world - 1) / world
        case "broadcast" | "send_recv":
            return 1.0
        case _:
            raise ValueError(f"unknown collective {kind}")
