"""An EOS whose id is 0 counts as none at all.

From: variants/plain.py
Kind: parameters
Report: https://github.com/openvinotoolkit/openvino.genai/pull/3593
Report: https://github.com/hiyouga/LlamaFactory/pull/2411
Fails: engine
"""

LINES = {
    "Engine._extend": r"""
-             if token in self.config.eos_token_ids:
+             if token > 0 and token in self.config.eos_token_ids:
""",
}
