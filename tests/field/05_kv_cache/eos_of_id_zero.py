"""An EOS whose id is 0 counts as none at all.

Kind: parameters
Report: https://github.com/openvinotoolkit/openvino.genai/pull/3593
Fails: generate
"""

LINES = {
    "generate": r"""
-         if token in eos_ids:
+         if token > 0 and token in eos_ids:
""",
}
