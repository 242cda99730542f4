"""Both models read the prompt at once and the target's first word is emitted there; rounds call one
another, and both caches are emptied at the end.
"""

import torch


def accept_greedy(draft, target_logits):
    token = int(target_logits[0].argmax())
    if not draft or draft[0] != token:
        return [token]
    return [token, *accept_greedy(draft[1:], target_logits[1:])]


def _gumbel(logs, generator):
    noise = torch.empty_like(logs, dtype=torch.float64).exponential_(generator=generator)
    return int((logs.double() - noise.log()).argmax())


def accept_sample(draft, draft_probs, target_probs, generator):
    if not draft:
        return [_gumbel(target_probs[0].log(), generator)]
    x, p, q = draft[0], target_probs[0], draft_probs[0]
    if q[x] > p[x]:
        stays = torch.bernoulli(p[x] / q[x], generator=generator)
        if not stays:
            rest = p - torch.minimum(p, q)
            return [_gumbel((rest if rest.max() > 0 else p).log(), generator)]
    return [x, *accept_sample(draft[1:], draft_probs[1:], target_probs[1:], generator)]


class Decoder:
    def __init__(self, target, draft, k, limit, eos, heat, generator):
        self.target, self.draft, self.k, self.eos = target, draft, k, set(eos)
        self.heat, self.generator, self.limit = heat, generator, limit
        self.calls = self.drafted = self.accepted = 0

    def probs(self, logits):
        return torch.nn.functional.softmax(logits / self.heat, dim=-1)

    def one(self, row):
        if self.heat == 0:
            return int(row.argmax())
        return _gumbel(torch.log_softmax(row.double() / self.heat, -1), self.generator)

    def begin(self, prompt):
        self.prompt = list(prompt)
        logits = self.target.forward(self.prompt)[-1]
        self.calls = 1
        self.draft.forward(self.prompt)
        first = self.one(logits)
        return [] if first in self.eos else self.go_on([first])

    def go_on(self, output):
        while len(output) < self.limit:
            text = self.prompt + output
            guess, rows = [], []
            while len(guess) < min(self.k, self.limit - len(output) - 1):
                row = self.draft.forward((text + guess)[self.draft.length :])[-1]
                rows.append(row)
                guess.append(self.one(row))
            logits = self.target.forward([output[-1], *guess])
            self.calls += 1
            self.drafted += len(guess)
            if self.heat == 0:
                new = accept_greedy(guess, logits)
            else:
                q = self.probs(torch.stack(rows)) if rows else torch.zeros(0, logits.shape[1])
                new = accept_sample(guess, q, self.probs(logits), self.generator)
            for i, token in enumerate(new):
                if token in self.eos:
                    self.accepted += i
                    return output
                output.append(token)
            self.accepted += len(new) - 1
            self.target.rewind(len(guess) + 1 - len(new))
            self.draft.rewind(max(0, self.draft.length - len(text) - len(new) + 1))
        return output


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    decoder = Decoder(target, draft, k, max_new_tokens, eos_ids, temperature, generator)
    output = decoder.begin(prompt) if max_new_tokens > 0 else []
    for model in (target, draft):
        if model.length:
            model.rewind(model.length)
    return output, {
        "target_calls": decoder.calls,
        "drafted": decoder.drafted,
        "accepted": decoder.accepted,
        "rate": decoder.accepted / max(1, decoder.drafted),
    }


def expected_speedup(acceptance, k, cost_ratio):
    tokens = torch.full((k + 1,), float(acceptance), dtype=torch.float64)
    return (tokens ** torch.arange(k + 1)).sum().item() / (1 + k * cost_ratio)
