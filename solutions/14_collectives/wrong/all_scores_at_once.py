"""Keys and values of all ranks are joined, and one softmax sees all scores.

From: collectives.py
Fails: ring_attention
"""


def ring_attention(peer, q, k, v, causal):
    rank, world = peer.rank, peer.world
    heads, length, width = q.shape
    whole = torch.empty(2, len(k), world * length, width, dtype=k.dtype)
    passing = torch.stack([k, v])
    for step in range(world):
        first = (rank - step) % world * length
        whole[:, :, first : first + length] = passing
        if step < world - 1:
            passing = peer.exchange(passing, (rank + 1) % world, (rank - 1) % world)
    keys, values = whole.float().repeat_interleave(heads // len(k), 1)
    scores = q.float() @ keys.mT * width**-0.5
    if causal:
        hidden = torch.ones(length, world * length, dtype=torch.bool).triu(rank * length + 1)
        scores = scores.masked_fill(hidden, -torch.inf)
    return (torch.softmax(scores, -1) @ values).to(q.dtype)
