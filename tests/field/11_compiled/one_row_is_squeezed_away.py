"""All axes of size 1 are taken out of the logits: a batch of one row has no batch.

Kind: sizes
Report: https://github.com/OpenNMT/OpenNMT-py/pull/1094
Report: https://github.com/NVIDIA/tacotron2/pull/303
Fails: step, graphs
"""

LINES = {
    "decode_step": r"""
-     return _forward(model, cache, tokens.unsqueeze(1), positions.unsqueeze(1), slots)[:, 0]
+     return _forward(model, cache, tokens.unsqueeze(1), positions.unsqueeze(1), slots).squeeze()
""",
}
