"""A temperature below 1e-3 is taken for 0: the best token is all that is ever said.

Kind: parameters
Report: https://github.com/vllm-project/vllm/pull/2937
Fails: generate
"""

LINES = {
    "speculative_generate": r"""
      stats = {"target_calls": 0, "drafted": 0, "accepted": 0}
+     temperature = temperature if temperature >= 1e-3 else 0.0
""",
}
