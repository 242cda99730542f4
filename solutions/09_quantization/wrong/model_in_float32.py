"""What is left of the new model becomes float32.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-     new = copy.deepcopy(model)
+     new = copy.deepcopy(model).float()
""",
}
