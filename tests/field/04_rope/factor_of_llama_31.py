"""The factor of the scaling is 8, as Llama 3.1 has it; that of the dict is not read.

From: variants/plain.py
Kind: parameters
Report: https://github.com/meta-llama/llama-models/issues/241
Report: https://github.com/pytorch/executorch/issues/7265
Fails: frequencies
"""

LINES = {
    "rope_frequencies": r"""
-     return (plain * (keep + (1 - keep) / scaling["factor"])).float()
+     return (plain * (keep + (1 - keep) / 8.0)).float()
""",
}
