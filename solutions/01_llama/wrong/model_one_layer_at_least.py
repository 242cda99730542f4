"""Runs the first layer also if the configuration has none.

From: variants/plain.py
Fails: model
"""

LINES = {
    "Llama.forward": r"""
-         for i in range(self.config.num_layers):
+         for i in range(max(1, self.config.num_layers)):
              at = f"model.layers.{i}"
""",
}
