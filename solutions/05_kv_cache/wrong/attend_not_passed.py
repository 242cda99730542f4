"""Lets the model use its own attention.

Fails: generate
"""

LINES = {
    "generate": r"""
-         logits_1TV = model(torch.tensor([entering]), positions_1T, caches=caches, attend=attend)
+         logits_1TV = model(torch.tensor([entering]), positions_1T, caches=caches)
""",
}
