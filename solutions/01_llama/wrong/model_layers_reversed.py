"""The layers run from last to first.

From: variants/plain.py
Fails: model, engine
"""

LINES = {
    "Llama.forward": r"""
-         for i in range(self.config.num_layers):
+         for i in reversed(range(self.config.num_layers)):
""",
}
