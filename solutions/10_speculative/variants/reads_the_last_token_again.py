"""Each round takes the last token back and reads it again; guessing stops at an EOS, which counts
as accepted if the target says it too. Draws by exponential races, acceptance in logarithms.
"""

import torch


def accept_greedy(draft, target_logits):
    best = [int(row.argmax()) for row in target_logits]
    for i in range(len(draft)):
        if draft[i] != best[i]:
            return [*draft[:i], best[i]]
    return [*draft, best[-1]]


def _race(weights, generator):
    clocks = torch.empty(len(weights), device=generator.device if generator else "cpu")
    clocks.exponential_(generator=generator)
    return int((weights.cpu() / clocks.cpu()).argmax())


def accept_sample(draft, draft_probs, target_probs, generator):
    logs = [
        (target_probs[i, x].log() - draft_probs[i, x].log()).item() for i, x in enumerate(draft)
    ]
    for i, log in enumerate(logs):
        clock = torch.empty(1, device=generator.device if generator else "cpu")
        # The negative logarithm of a uniform number is exponential.
        if clock.exponential_(generator=generator).item() >= -log:
            continue
        left = (target_probs[i] - draft_probs[i]).clamp_min(0)
        if left.max() == 0:  # of numbers that differ by a rounding
            continue
        return [*draft[:i], _race(left, generator)]
    return [*draft, _race(target_probs[len(draft)], generator)]


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    stats = dict.fromkeys(("target_calls", "drafted", "accepted"), 0)
    output = []
    while len(output) < max_new_tokens:
        text = prompt + output
        for model in (target, draft):
            _back_to(model, len(text) - 1)
        guess, rows = [], []
        while len(guess) < k and not (guess and guess[-1] in eos_ids):
            row = draft.forward((text + guess)[draft.length :])[-1]
            if temperature > 0:
                row = torch.softmax(row / temperature, -1)
                guess.append(_race(row, generator))
            else:
                guess.append(int(row.argmax()))
            rows.append(row)
        answer = target.forward((text + guess)[target.length :])[-len(guess) - 1 :]
        stats["target_calls"] += 1
        stats["drafted"] += len(guess)
        if temperature > 0:
            answer = torch.softmax(answer / temperature, -1)
            q = torch.stack(rows) if rows else answer.new_zeros(0, answer.shape[1])
            new = accept_sample(guess, q, answer, generator)
        else:
            new = accept_greedy(guess, answer)
        new = new[: max_new_tokens - len(output)]
        ends = [i for i, token in enumerate(new) if token in eos_ids]
        if ends:
            stats["accepted"] += min(
                ends[0] + (guess[ends[0] : ends[0] + 1] == [new[ends[0]]]), len(guess)
            )
            output += new[: ends[0]]
            break
        stats["accepted"] += sum(x == y for x, y in zip(guess, new, strict=False))
        output += new
    text = prompt + output
    for model in (target, draft):
        _back_to(model, len(prompt))
    return output, stats


def _back_to(model, length):
    if model.length > length:
        model.rewind(model.length - length)


def expected_speedup(acceptance, k, cost_ratio):
    stays = [acceptance**i for i in range(k + 1)]
    lengths = [stays[i] * (1 - acceptance) * (i + 1) for i in range(k)] + [stays[k] * (k + 1)]
    return float(sum(lengths) / (1 + k * cost_ratio))
