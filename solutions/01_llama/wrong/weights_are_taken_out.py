"""The caller's dictionary of weights loses what the model takes.

From: variants/plain.py
Fails: model
"""

LINES = {
    "Llama.__init__": r"""
-         self.weights = weights
+         self.weights = {name: weights.pop(name) for name in list(weights)}
""",
}
