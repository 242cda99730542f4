"""quantize_model turns the model that it is given into float32.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
-     new = copy.deepcopy(model)
+     new = copy.deepcopy(model.float())
""",
}
