"""Of heads that several ranks hold the gradients of the keys alone are summed.

From: variants/plain.py
Kind: gradients
Report: https://github.com/bigcode-project/Megatron-LM/pull/39
Fails: qkv
"""

LINES = {
    "Replicate.backward": r"""
-         wk, wv = slots[ctx.head].clone()
+         wk, wv = slots[ctx.head][0].clone(), grads[1]
""",
}
