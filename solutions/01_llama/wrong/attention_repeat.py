"""repeat for repeat_interleave: query head h reads head h % G.

From: variants/plain.py
Fails: attention, model, engine
"""

LINES = {
    "attention": r"""
-     k, v = (t.float().repeat_interleave(heads // groups, dim=1) for t in (k, v))
+     k, v = (t.float().repeat(1, heads // groups, 1, 1) for t in (k, v))
""",
}
