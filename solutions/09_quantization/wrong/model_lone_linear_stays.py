"""A model that is itself an nn.Linear is copied, and stays in float.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-     if isinstance(model, nn.Linear):
-         return linear_cls.from_float(model)
      new = copy.deepcopy(model)
...
-         if isinstance(module, nn.Linear) and last not in skip:
+         if name and isinstance(module, nn.Linear) and last not in skip:
""",
}
