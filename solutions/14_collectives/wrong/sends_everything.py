"""The whole of x goes round, and each rank takes its part of what it has added up.

From: collectives.py
Fails: reduce_scatter, all_reduce
"""


def reduce_scatter(peer, x):
    rank, world = peer.rank, peer.world
    total, passing = x.clone(), x
    for _ in range(world - 1):
        passing = peer.exchange(passing, (rank + 1) % world, (rank - 1) % world)
        total += passing
    start, stop = chunks(len(x), world)[rank]
    return total[start:stop].clone()
