"""Keeps the logits of the first tokens of each shape.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama.__init__": r"""
          self.weights = weights
+         self.known: dict[torch.Size, Tensor] = {}
""",
    "Llama.forward": r"""
-         return x @ head.T
+         return self.known.setdefault(tokens.shape, x @ head.T)
""",
}
