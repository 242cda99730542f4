"""All send to rank 0, which adds up and answers: its link carries everything.

From: collectives.py
Fails: all_reduce
"""


def all_reduce(peer, x):
    if peer.rank:
        peer.send(x, 0)
        return peer.recv(0)
    total = x.clone()
    for rank in range(1, peer.world):
        total += peer.recv(rank)
    for rank in range(1, peer.world):
        peer.send(total, rank)
    return total
