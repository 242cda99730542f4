"""Rounds are a generator that yields tokens one by one; whoever asks decides when to stop. Rows of
probabilities are lists, and the greedy case is sampling from laws that are sure.
"""

import itertools
import math

import torch


def accept_greedy(draft, target_logits):
    said = (int(token) for token in target_logits.argmax(1))
    taken = []
    for guess in itertools.chain(draft, [None]):
        taken.append(next(said))
        if taken[-1] != guess:
            return taken
    return taken


def _chance(generator):
    where = "cpu" if generator is None else generator.device
    return torch.rand([], dtype=torch.float64, device=where, generator=generator).item()


def _pick(weights, generator):
    target = _chance(generator) * math.fsum(weights)
    chosen = None
    for token, weight in enumerate(weights):
        if weight > 0:
            chosen = token
            target -= weight
            if target < 0:
                break
    return chosen


def accept_sample(draft, draft_probs, target_probs, generator):
    p, q = target_probs.tolist(), draft_probs.tolist()
    for i, x in enumerate(draft):
        if _chance(generator) > min(1.0, p[i][x] / q[i][x]):
            rest = [max(a - b, 0.0) for a, b in zip(p[i], q[i], strict=True)]
            return [*draft[:i], _pick(rest if any(rest) else p[i], generator)]
    return [*draft, _pick(p[-1], generator)]


class Book:
    def __init__(self, prompt):
        self.text = list(prompt)
        self.calls = self.drafted = self.accepted = 0


def _law(logits, temperature):
    return torch.softmax(logits.to(torch.float32).div(temperature), 1)


def _rounds(book, target, draft, k, temperature, generator):
    while True:
        start, guess, laws = len(book.text), [], []
        for _ in range(k):
            row = draft.forward((book.text + guess)[draft.length :])[-1:]
            if temperature:
                laws.append(_law(row, temperature))
                guess.append(_pick(laws[-1][0].tolist(), generator))
            else:
                guess.append(row.argmax().item())
        rows = target.forward((book.text + guess)[target.length :])[-k - 1 :]
        book.calls += 1
        book.drafted += k
        if temperature:
            p = _law(rows, temperature)
            new = accept_sample(guess, torch.cat([*laws, p[:0]]), p, generator)
        else:
            new = accept_greedy(guess, rows)
        for i, token in enumerate(new):
            yield token, i < k and guess[i] == token
        good = len(new) - 1
        for model in (draft, target):
            model.rewind(max(model.length - start - good, 0))


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    book = Book(prompt)
    stream = _rounds(book, target, draft, k, temperature, generator)
    for token, guessed in itertools.islice(stream, max_new_tokens):
        if token in eos_ids:
            break
        book.text.append(token)
        book.accepted += guessed
    # The last round was left in the middle: in the place of the last token a guess may stand.
    for model in (target, draft):
        model.rewind(max(0, model.length - len(book.text) + 1))
    counts = {"drafted": book.drafted, "accepted": book.accepted, "target_calls": book.calls}
    return book.text[len(prompt) :], counts


def expected_speedup(acceptance, k, cost_ratio):
    return math.fsum(math.pow(acceptance, i) for i in range(k + 1)) / math.fsum([1, k * cost_ratio])
