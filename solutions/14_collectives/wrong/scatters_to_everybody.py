"""Each rank sends every other one its chunk at once: no ring.

From: collectives.py
Fails: reduce_scatter, all_reduce
"""


def reduce_scatter(peer, x):
    rank, world = peer.rank, peer.world
    bounds = chunks(len(x), world)
    start, stop = bounds[rank]
    total = x[start:stop].clone()
    for step in range(1, world):
        to, source = (rank + step) % world, (rank - step) % world
        first, last = bounds[to]
        total += peer.exchange(x[first:last].clone(), to, source)
    return total
