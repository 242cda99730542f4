"""The heads of attention are read off the values, of which there are fewer.

Kind: heads
Report: https://github.com/facebookresearch/xformers/pull/1404
Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     scores = 2 * batch * layers * heads * new * context * width
+     scores = 2 * batch * new * context * width * layers * config.num_kv_heads
""",
}
