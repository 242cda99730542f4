"""Takes a rejected guess out of the target's own row before it has been read for the last time.

Kind: state
Report: https://github.com/vllm-project/vllm-ascend/pull/2881
Fails: sample
"""

LINES = {
    "accept_sample": r"""
-             return [*draft[:i], _draw(rest, generator)]
+             p[token] = 0.0
+             return [*draft[:i], _draw(rest, generator)]
""",
}
