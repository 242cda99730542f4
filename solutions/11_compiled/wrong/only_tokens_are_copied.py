"""Positions and slots are those of the capture's first step.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         inputs.copy_(torch.tensor([[*some, *more] for some, more in given]))
+         rows = torch.tensor([[*some, *more] for some, more in given])
+         inputs[0].copy_(rows[0])
""",
}
