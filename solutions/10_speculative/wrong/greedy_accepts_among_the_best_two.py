"""Accepts a guess that is one of the target's two best.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     agreed = _common(draft, best)
-     return best[: agreed + 1]
+     two = target_logits.topk(2).indices.tolist()
+     agreed = next((i for i, x in enumerate(draft) if x not in two[i]), len(draft))
+     return [*draft[:agreed], best[agreed]]
""",
}
