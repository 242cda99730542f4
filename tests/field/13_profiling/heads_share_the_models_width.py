"""The width of a head is taken to be the model's over the heads.

Kind: heads
Report: https://github.com/allenai/open-instruct/pull/1096
Fails: flops, roofline
"""

LINES = {
    "step_flops": r"""
-     layers, heads, width = config.num_layers, config.num_heads, config.head_dim
-     hidden, tokens = config.hidden_size, batch * new
+     layers, heads, hidden = config.num_layers, config.num_heads, config.hidden_size
+     width, tokens = hidden // heads, batch * new
""",
}
