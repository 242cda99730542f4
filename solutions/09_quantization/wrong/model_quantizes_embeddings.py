"""Embeddings are quantized too, and come back as floats.

From: variants/simple.py
Fails: model
"""

LINES = {
    "quantize_model": r"""
      for name, module in list(new.named_modules(remove_duplicate=False)):
+         if isinstance(module, nn.Embedding):
+             weight = dequantize_int8(*quantize_int8(module.weight)).to(module.weight.dtype)
+             module.weight = nn.Parameter(weight)
""",
}
