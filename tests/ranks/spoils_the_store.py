"""Spoils the files by which later groups find each other.

Expect:
    total: passed timeout
    part: passed
    score: 84.1667
"""

import contextlib
import glob

import torch.distributed as dist


def total(x, group=None):
    for name in glob.glob("/tmp/*"):
        with contextlib.suppress(OSError), open(name, "wb") as file:
            file.write(b"spoiled")
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
