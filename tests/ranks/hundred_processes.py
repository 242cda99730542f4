"""Starts a hundred processes from one rank.

Expect:
    total: crashed|error skipped
    part: passed
    score: 30
"""

import os
import time

import torch.distributed as dist


def total(x, group=None):
    for _ in range(100 if dist.get_rank(group) == 0 else 0):
        if os.fork() == 0:
            time.sleep(60)
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
