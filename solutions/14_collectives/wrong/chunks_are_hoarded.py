"""All chunks are gathered first, and kept.

From: collectives.py
Fails: ring_attention
"""


def ring_attention(peer, q, k, v, causal):
    rank, world = peer.rank, peer.world
    length, width = q.shape[1:]
    parts = {rank: torch.stack([k, v])}
    for step in range(world - 1):
        passing = parts[(rank - step) % world]
        came = peer.exchange(passing, (rank + 1) % world, (rank - 1) % world)
        parts[(rank - step - 1) % world] = came
    out = q.new_empty(q.shape)
    seen = range(rank + 1) if causal else range(world)
    for head in range(len(q)):
        group = head // (len(q) // len(k))
        for row in range(length):
            keys = torch.cat([parts[r][0, group].float() for r in seen])
            values = torch.cat([parts[r][1, group].float() for r in seen])
            last = rank * length + row + 1 if causal else world * length
            weights = torch.softmax(keys[:last] @ q[head, row].float() * width**-0.5, -1)
            out[head, row] = (weights @ values[:last]).to(q.dtype)
    return out
