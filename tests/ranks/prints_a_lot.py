"""Prints from every rank; nobody waits for a reader.

Expect:
    total: passed
    part: passed
    score: 95
"""

import torch.distributed as dist


def total(x, group=None):
    for _ in range(1000):
        print("x" * 100)
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
