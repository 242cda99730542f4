"""One scale serves the whole tensor.

From: variants/simple.py
Fails: int8, linears, model, cache
"""

LINES = {
    "quantize_int8": r"""
-     largest = w.abs().amax(dim=1)
+     largest = w.abs().amax().expand(w.shape[0])
""",
}
