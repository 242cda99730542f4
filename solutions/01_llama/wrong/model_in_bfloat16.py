"""Computes in bfloat16 whatever the dtype of the weights.

From: variants/plain.py
Fails: model
"""

LINES = {
    "Llama.__init__": r"""
-         self.weights = weights
+         self.weights = {name: weight.bfloat16() for name, weight in weights.items()}
""",
    "Llama.forward": r"""
-         return x @ head.T
+         return (x @ head.T).float()
""",
}
