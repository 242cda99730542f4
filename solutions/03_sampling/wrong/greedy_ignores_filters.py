"""Greedy together with filters is accepted; the filters are forgotten.

Fails: sampler
"""

LINES = {
    "Sampler.__init__": r"""
-         if greedy and filters:
-             raise ValueError("greedy takes the largest logit: filters would change nothing")
""",
}
