"""After the first step passes the new tokens alone, as if there were a cache.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         tokens = torch.cat((tokens, chosen[:, None]), dim=1)
-         valid = torch.cat((valid, torch.ones(len(prompts), 1, dtype=torch.bool)), dim=1)
-         positions = (valid.cumsum(-1) - 1).clamp(min=0)
+         tokens = chosen[:, None]
+         positions = positions[:, -1:] + 1
+         valid = torch.ones(len(prompts), 1, dtype=torch.bool)
""",
}
