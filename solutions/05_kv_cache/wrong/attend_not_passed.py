"""Lets the model use its own attention.

Fails: generate
"""

LINES = {
    "generate": r"""
-         logits = model(torch.tensor([entering]), positions, caches=caches, attend=attend)
+         logits = model(torch.tensor([entering]), positions, caches=caches)
""",
}
