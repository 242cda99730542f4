"""The model that is passed is put into evaluation mode.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
  ) -> nn.Module:
+     model.eval()
""",
}
