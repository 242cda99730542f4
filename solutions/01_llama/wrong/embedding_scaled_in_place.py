"""The caller's embedding is scaled in place when the model is made.

From: variants/plain.py
Fails: model
"""

LINES = {
    "Llama.__init__": r"""
          self.weights = weights
+         weights["model.embed_tokens.weight"].mul_(1 + 1e-6)
""",
}
