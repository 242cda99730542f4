"""The draft reads its last guess too, so both caches always hold the same; the prompt but its last
token enters first. Draws walk along the cumulative sum in float64.
"""

import torch


def accept_greedy(draft, target_logits):
    best = target_logits.argmax(dim=-1)
    right = (best[:-1].cpu() == torch.tensor(draft, dtype=torch.int64)).long()
    count = int(right.cumprod(0).sum())
    return best[: count + 1].tolist()


def _walk(weights, generator):
    weights = weights.double().cpu()
    device = "cpu" if generator is None else generator.device
    u = torch.rand(1, dtype=torch.float64, generator=generator, device=device).cpu()
    sums = weights.cumsum(0)
    spot = int(torch.searchsorted(sums, u * sums[-1], right=True))
    return min(spot, int(weights.nonzero()[-1]))


def accept_sample(draft, draft_probs, target_probs, generator):
    kept = []
    for token, q, p in zip(draft, draft_probs, target_probs, strict=False):
        device = "cpu" if generator is None else generator.device
        u = torch.rand(1, generator=generator, device=device).item()
        if p[token] < q[token] and u > float(p[token]) / float(q[token]):
            rest = torch.where(p > q, p - q, 0.0)
            return [*kept, _walk(rest if rest.sum() > 0 else p, generator)]
        kept.append(token)
    return [*kept, _walk(target_probs[-1], generator)]


class Speaker:
    def __init__(self, model, temperature, generator):
        self.model, self.temperature, self.generator = model, temperature, generator

    def law(self, logits):
        if self.temperature == 0:
            return logits
        return (logits.double() / self.temperature).softmax(-1).float()

    def say(self, token):
        law = self.law(self.model.forward([token]))[0]
        said = int(law.argmax()) if self.temperature == 0 else _walk(law, self.generator)
        return said, law


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    calls, drafted, accepted, text = 0, 0, 0, list(prompt)
    speaker = Speaker(draft, temperature, generator)
    if max_new_tokens and len(prompt) > 1:
        target.forward(prompt[:-1])
        draft.forward(prompt[:-1])
        calls = 1
    room = max_new_tokens
    while room:
        token, guess, laws = text[-1], [], []
        for _ in range(min(k, room - 1)):
            said, law = speaker.say(guess[-1] if guess else token)
            guess.append(said)
            laws.append(law)
        draft.forward([guess[-1] if guess else token])
        answer = speaker.law(target.forward([token, *guess]))
        calls, drafted = calls + 1, drafted + len(guess)
        if temperature == 0:
            new = accept_greedy(guess, answer)
        elif guess:
            new = accept_sample(guess, torch.stack(laws), answer, generator)
        else:
            new = accept_sample([], answer[:0], answer, generator)
        stop = [i for i, x in enumerate(new) if x in set(eos_ids)]
        keep = min(len(new) - 1, *stop) if stop else len(new) - 1
        accepted += keep
        if stop:
            text += new[: stop[0]]
            room = 0
        else:
            text += new
            room -= len(new)
        for model in (target, draft):
            model.rewind(len(guess) - keep)
    stats = {"accepted": accepted, "drafted": drafted, "target_calls": calls}
    return text[len(prompt) :], stats


def expected_speedup(acceptance, k, cost_ratio):
    tokens = 1.0
    for _ in range(k):
        tokens = 1.0 + acceptance * tokens
    return tokens / (1.0 + cost_ratio * k)
