"""quantize_model replaces the layers of the model that it is given.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-     new = copy.deepcopy(model)
+     new = model
""",
}
