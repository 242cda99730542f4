"""The prompt enters both models before the first round, and a round judges by logits kept from the
last one; always k guesses, and what is too much is cut off at the end.
"""

import torch


def accept_greedy(draft, target_logits):
    out = []
    for guess, row in zip([*draft, -1], target_logits, strict=True):
        out.append(row.argmax().item())
        if out[-1] != guess:
            break
    return out


def accept_sample(draft, draft_probs, target_probs, generator):
    device = target_probs.device if generator is None else generator.device
    target, guessed = target_probs.to(device), draft_probs.to(device)
    chance = torch.rand(len(draft), generator=generator, device=device)
    for i, token in enumerate(draft):
        ratio = target[i, token] / guessed[i, token]
        if chance[i] < ratio:
            continue
        left = torch.relu(target[i] - guessed[i])
        if left.sum() > 0:
            left /= left.sum()
            return draft[:i] + torch.multinomial(left, 1, generator=generator).tolist()
    return draft + torch.multinomial(target[-1], 1, generator=generator).tolist()


def speculative_generate(
    target, draft, prompt, k, max_new_tokens, eos_ids, temperature=0.0, generator=None
):
    def chances(logits):
        return torch.softmax(logits.float() / temperature, dim=-1)

    def pick(row):
        if temperature == 0:
            return int(torch.argmax(row))
        home = row.device if generator is None else generator.device
        return int(torch.multinomial(chances(row).to(home), 1, generator=generator))

    if max_new_tokens <= 0:
        return [], {"target_calls": 0, "drafted": 0, "accepted": 0}
    last = target.forward(list(prompt))[-1:]
    calls, drafted, accepted = 1, 0, 0
    output, unread, done = [], list(prompt), False
    while not done:
        guess, rows = [], []
        while len(guess) < k:
            row = draft.forward(unread)[-1]
            rows.append(row)
            guess.append(pick(row))
            unread = guess[-1:]
        # The token that the target added itself has not entered it yet.
        entering = output[-1:] + guess if output else guess
        if entering:
            new_rows = target.forward(entering)
            calls += 1
            logits = new_rows if output else torch.cat([last, new_rows])
        else:
            logits = last
        drafted += len(guess)
        if temperature == 0:
            new = accept_greedy(guess, logits)
        else:
            q = chances(torch.stack(rows)) if rows else chances(logits)[:0]
            new = accept_sample(guess, q, chances(logits), generator)
        kept = []
        for token in new:
            if token in eos_ids or len(output) + len(kept) == max_new_tokens:
                done = True
                break
            kept.append(token)
        right = 0
        while right < min(len(guess), len(kept)) and guess[right] == kept[right]:
            right += 1
        accepted += right
        place = len(prompt) + len(output) + right
        output += kept
        done = done or len(output) == max_new_tokens
        target.rewind(target.length - min(place, target.length))
        if draft.length > place:
            draft.rewind(draft.length - place)
        unread = (list(prompt) + output)[draft.length :]
    return output, {"target_calls": calls, "drafted": drafted, "accepted": accepted}


def expected_speedup(acceptance, k, cost_ratio):
    if acceptance == 1:
        return (k + 1) / (k * cost_ratio + 1)
    return (1 - acceptance ** (k + 1)) / ((1 - acceptance) * (k * cost_ratio + 1))
