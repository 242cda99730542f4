"""New tokens enter one place too far.

Fails: prefill
"""

LINES = {
    "generate": r"""
-         position = torch.tensor([len(prompt) + len(new) - 1], device=device)
+         position = torch.tensor([min(len(prompt) + len(new), max_len - 1)], device=device)
""",
}
