"""Leaves the work to transformers.

From: variants/plain.py
Fails: engine
"""

from transformers import AutoModelForCausalLM

LINES = {
    "Engine.__init__": r"""
-         self.model = Llama(self.config, load_weights(model_path)).eval()
+         self.model = AutoModelForCausalLM.from_pretrained(model_path)
""",
    "Engine._extend": r"""
-             logits = self.model(torch.tensor([prompt + new]))[0, -1].float()
+             logits = self.model(torch.tensor([prompt + new])).logits[0, -1].float()
""",
}
