"""Every rank puts its columns into a whole matrix, and the sum of these is all logits.

From: collectives.py
Fails: vocabulary
"""


def vocab_cross_entropy(peer, logits, targets, start):
    top = peer.all_reduce(logits.float().amax(-1), "max")
    part = logits.shape[1]
    size = max(start + part, int(targets.max()) + 1)
    whole = torch.zeros(len(logits), size)
    whole[:, start : start + part] = logits.float() - top[:, None]
    whole = peer.all_reduce(whole, "sum")
    hit = whole.gather(1, targets[:, None])[:, 0]
    gradient = torch.softmax(whole, -1)
    gradient.scatter_add_(1, targets[:, None], -torch.ones(len(targets), 1))
    return whole.logsumexp(-1) - hit, gradient[:, start : start + part].to(logits.dtype)
