"""The result is a NamedTuple, the statistics a Counter; uniform numbers come k + 1 at a time."""

from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np
import torch


class Result(NamedTuple):
    tokens: list
    stats: dict


def accept_greedy(draft, target_logits):
    best = target_logits.float().numpy().argmax(axis=1)
    wrong = np.flatnonzero(best[:-1] != np.asarray(draft, dtype=np.int64))
    end = int(wrong[0]) if wrong.size else len(draft)
    return [int(token) for token in best[: end + 1]]


def _inverse(weights, u):
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, u * sums[-1], side="right"))


def accept_sample(draft, draft_probs, target_probs, generator):
    p = target_probs.numpy().astype(np.float64)
    q = draft_probs.numpy().astype(np.float64)
    u = torch.rand(len(draft) + 1, dtype=torch.float64, generator=generator).numpy()
    rows = np.arange(len(draft))
    guesses = np.asarray(draft, dtype=np.int64)
    gone = np.flatnonzero(u[:-1] * q[rows, guesses] >= p[rows, guesses])
    if not gone.size:
        return [*draft, _inverse(p[-1], u[-1])]
    i = int(gone[0])
    return [*draft[:i], _inverse(np.maximum(p[i] - q[i], 0), u[-1])]


def _law(logits, temperature):
    x = logits.numpy().astype(np.float64) / temperature
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


def _catch_up(model, text):
    return model.forward(text[model.length :])


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    stats = Counter(target_calls=0, drafted=0, accepted=0)
    stops = frozenset(eos_ids)
    out = []
    while len(out) < max_new_tokens:
        text = [*prompt, *out]
        guess, laws = [], []
        for _ in range(k):
            row = _catch_up(draft, text + guess)[-1]
            if temperature:
                laws.append(_law(row, temperature))
                u = torch.rand((), dtype=torch.float64, generator=generator).item()
                guess.append(_inverse(laws[-1], u))
            else:
                guess.append(int(row.numpy().argmax()))
        rows = _catch_up(target, text + guess)[-k - 1 :]
        stats.update(target_calls=1, drafted=k)
        if temperature:
            q = torch.from_numpy(np.array(laws).reshape(k, rows.shape[1]))
            new = accept_sample(guess, q, torch.from_numpy(_law(rows, temperature)), generator)
        else:
            new = accept_greedy(guess, rows)
        good = len(new) - 1
        stop = next((i for i, token in enumerate(new) if token in stops), None)
        room = max_new_tokens - len(out)
        end = min(len(new), room) if stop is None else min(stop, room)
        good = min(good, end)
        stats["accepted"] += good
        out += new[:end]
        for model in (target, draft):
            model.rewind(max(0, model.length - len(text) - good))
        if stop is not None and stop < room:
            break
    return Result(out, stats)


def _speedup(one, acceptance, k, cost_ratio):
    return float(np.polyval(np.full(k + 1, one), acceptance) / (one + cost_ratio * k))


expected_speedup = partial(_speedup, 1.0)
