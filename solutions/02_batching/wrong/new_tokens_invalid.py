"""New columns are marked as padding, so generated tokens are not seen.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         valid = torch.cat((valid, torch.ones(len(prompts), 1, dtype=torch.bool)), dim=1)
+         valid = torch.cat((valid, torch.zeros(len(prompts), 1, dtype=torch.bool)), dim=1)
""",
}
