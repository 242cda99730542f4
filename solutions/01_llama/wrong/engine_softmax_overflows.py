"""Divides exponentials by hand: a low temperature overflows.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-                 token = int(torch.multinomial((logits / temperature).softmax(-1), 1))
+                 token = int(torch.multinomial((logits / temperature).exp(), 1))
""",
}
