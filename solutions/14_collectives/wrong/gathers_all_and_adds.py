"""Every x goes round whole, and each rank adds them up: W / 2 times the bytes.

From: collectives.py
Fails: all_reduce
"""


def all_reduce(peer, x):
    rank, world = peer.rank, peer.world
    total, passing = x.clone(), x
    for _ in range(world - 1):
        passing = peer.exchange(passing, (rank + 1) % world, (rank - 1) % world)
        total += passing
    return total
