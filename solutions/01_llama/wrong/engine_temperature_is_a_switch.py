"""Any temperature above 0 samples at temperature 1.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-                 token = int(torch.multinomial((logits / temperature).softmax(-1), 1))
+                 token = int(torch.multinomial(logits.softmax(-1), 1))
""",
}
