"""Takes all the memory from one rank.

Expect:
    total: memory skipped
    part: passed
    score: 30
"""

import torch
import torch.distributed as dist

HELD = []


def total(x, group=None):
    while dist.get_rank(group) == 2:
        HELD.append(torch.ones(1 << 25))
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
