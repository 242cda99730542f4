"""Runs the rows one after the other: right answers, no batch.

From: variants/plain.py
Fails: generate, engine
"""


def generate(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    eos_ids: Sequence[int],
    pad_id: int,
) -> list[list[int]]:
    outputs = []
    for prompt in prompts:
        sequence = list(prompt)
        while len(sequence) < len(prompt) + max_new_tokens:
            tokens, positions, valid = left_pad([sequence], pad_id)
            token = int(model(tokens, positions, causal_mask(valid))[0, -1].argmax())
            if token in eos_ids:
                break
            sequence.append(token)
        outputs.append(sequence[len(prompt) :])
    if not all(prompts):
        raise ValueError("prompts must not hold an empty prompt")
    return outputs
