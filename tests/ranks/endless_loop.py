"""Never ends on rank 2.

Expect:
    total: timeout skipped
    part: passed
    score: 30
    says: rank 2 is at line
    says: while dist.get_rank(group) == 2:
    says: rank 3 waits in all_reduce
"""

import torch.distributed as dist


def total(x, group=None):
    while dist.get_rank(group) == 2:
        pass
    x = x.clone()
    dist.all_reduce(x, group=group)
    return x


class Part:
    def __init__(self, x, group=None):
        world = dist.get_world_size(group)
        if len(x) % world:
            raise ValueError(f"{len(x)} rows for {world} ranks")
        self.rows = x.chunk(world)[dist.get_rank(group)].clone()
