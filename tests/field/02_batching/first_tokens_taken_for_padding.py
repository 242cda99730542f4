"""What a prompt begins with is padding if it is the pad_id, which often is the EOS.

Kind: contracts
Report: https://github.com/microsoft/onnxruntime-genai/pull/1694
Report: https://github.com/huggingface/transformers/issues/25790
Fails: pad, generate, engine
"""

LINES = {
    "left_pad": r"""
-     # What is real follows from the lengths: pad_id may well occur inside a prompt.
-     gaps_B = torch.tensor([width - len(row) for row in prompts])
-     valid_BT = torch.arange(width) >= gaps_B[:, None]
+     valid_BT = (tokens_BT != pad_id).cumsum(-1) > 0
""",
}
