"""Each step calls the model once for every row.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-         logits = model(tokens, positions, causal_mask(valid))
+         mask = causal_mask(valid)
+         rows = [slice(i, i + 1) for i in range(len(live))]
+         logits = torch.cat([model(tokens[r], positions[r], mask[r]) for r in rows])
""",
}
