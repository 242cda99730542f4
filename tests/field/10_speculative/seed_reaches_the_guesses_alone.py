"""The generator of a request draws the guesses; judging them falls back on the global one.

Kind: contracts
Report: https://github.com/vllm-project/vllm/issues/6038
Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-             new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, generator)
+             new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, None)
""",
}
