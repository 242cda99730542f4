"""The residual is drawn by darts, unless it is small: a token of the target's law stays with chance
1 - q/p, else another is thrown. The target reads the last token again; stops guessing at an EOS.
"""

import math

import torch


def accept_greedy(draft, target_logits):
    out = []
    for row, guess in zip(target_logits.unbind(), [*draft, None], strict=True):
        best = max(range(row.numel()), key=row.tolist().__getitem__)
        out.append(best)
        if best != guess:
            break
    return out


def accept_sample(draft, draft_probs, target_probs, generator):
    def uniform():
        return torch.rand(1, generator=generator, device=target_probs.device).item()

    def throw(law):
        return torch.multinomial(law, 1, generator=generator).item()

    emitted = list(draft)
    for i, x in enumerate(draft):
        p, q = target_probs[i], draft_probs[i]
        if uniform() * q[x].item() < p[x].item() or not (p > q).any():
            continue
        del emitted[i:]
        rest = (p - q).clamp(min=0)
        if rest.sum() < 1 / 64:  # too few darts would hit
            return [*emitted, throw(rest)]
        while True:
            y = throw(p)
            if uniform() * p[y].item() < p[y].item() - q[y].item():
                return [*emitted, y]
    return [*emitted, throw(target_probs[len(draft)])]


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    calls = drafted = accepted = 0
    text = tuple(prompt)
    goal = len(prompt) + max_new_tokens
    running = max_new_tokens > 0
    while running:
        if target.length == len(text):
            target.rewind(1)
        guess, laws = (), []
        while len(guess) < min(k, goal - len(text)):
            row = draft.forward(list((text + guess)[draft.length :]))[-1]
            if temperature == 0:
                guess += (row.argmax().item(),)
            else:
                law = (row - row.logsumexp(0)) / temperature
                law = (law - law.logsumexp(0)).exp()
                laws.append(law)
                guess += (torch.multinomial(law, 1, generator=generator).item(),)
            if guess[-1] in eos_ids:
                break
        rows = target.forward(list((text + guess)[target.length :]))
        rows = rows[rows.shape[0] - len(guess) - 1 :]
        calls += 1
        drafted += len(guess)
        if temperature == 0:
            new = accept_greedy(list(guess), rows)
        else:
            law = torch.log_softmax(rows / temperature, 1).exp()
            q = torch.stack(laws) if laws else law[:0]
            new = accept_sample(list(guess), q, law, generator)
        good = len(new) - 1
        new = new[: goal - len(text)]
        stops = [i for i, x in enumerate(new) if x in eos_ids]
        if stops:
            accepted += min(good, stops[0] + 1)
            new, running = new[: stops[0]], False
        else:
            accepted += min(good, len(new))
            running = len(text) + len(new) < goal
        good = min(good, len(new))
        for model in (draft, target):
            model.rewind(max(0, model.length - len(text) - good))
        text += tuple(new)
    stats = {"accepted": accepted, "target_calls": calls, "drafted": drafted}
    return list(text[len(prompt) :]), stats


def expected_speedup(acceptance, k, cost_ratio):
    if acceptance in (0, 1):
        tokens = 1 + k * acceptance
    else:
        log = math.log(acceptance)
        tokens = math.expm1((k + 1) * log) / math.expm1(log)
    return float(tokens / (1 + k * cost_ratio))
