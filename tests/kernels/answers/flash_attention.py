"""Answers to lab 07: sequences of one length and packed ones."""

import torch


def _scores(q, k, causal):
    """Return the scores of q [H, T, D] and k [G, S, D]; a causal row ends at its own key."""
    rows, keys = q.shape[1], k.shape[1]
    scores = q @ k.repeat_interleave(len(q) // len(k), 0).mT * q.shape[2] ** -0.5
    if causal:
        hidden = torch.ones(rows, keys, dtype=torch.bool).triu(keys - rows + 1)
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores


def _dense(answer, causal):
    q, k, v = torch.randn(2, 4, 70, 24), torch.randn(2, 2, 37, 24), torch.randn(2, 2, 37, 24)
    if not causal:
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    got = answer.flash_attention(q, k, v, causal)
    scores = torch.stack([_scores(one, two, causal) for one, two in zip(q, k, strict=True)])
    want = scores.softmax(-1).nan_to_num() @ v.repeat_interleave(2, 1)
    return got, (want, scores.logsumexp(-1))


def all_keys(answer):
    return _dense(answer, causal=False)


def causal(answer):
    return _dense(answer, causal=True)


def packed(answer):
    queries, keys = [9, 70, 0, 1], [20, 75, 3, 1]
    q, k, v = torch.randn(80, 4, 24), torch.randn(99, 2, 24), torch.randn(99, 2, 24)
    starts = [torch.tensor([0, *counts]).cumsum(0).int() for counts in (queries, keys)]
    got = answer.flash_attention_varlen(q, k, v, *starts, True)
    wants = []
    for one, two, three in zip(q.split(queries), k.split(keys), v.split(keys), strict=True):
        one, two, three = (x.transpose(0, 1) for x in (one, two, three))
        weight = _scores(one, two, True).softmax(-1)
        wants.append((weight @ three.repeat_interleave(2, 0)).transpose(0, 1))
    return got, torch.cat(wants)
