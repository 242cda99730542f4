"""Lab 01: a Llama from scratch. Four formulas, a model made of them, an engine around the model.

Fill in the bodies from top to bottom; `make grade LAB=1` tells what holds so far. Add helpers as
you like, but keep the names and arguments that are here. README.md works an example of each task.

Letters: B sequences, T new tokens, S context positions, H query heads, G key/value heads, D head
width, E model width, F feed-forward width, V vocabulary.
"""

from torch import Tensor, nn

from labs.common import LlamaConfig

# --- norm ------------------------------------------------------------------------------------


def rms_norm(
    x: Tensor,  # [..., E]
    weight: Tensor,  # [E], of any dtype
    eps: float,
) -> Tensor:  # [..., E], x's dtype
    """Scale the last axis to a root mean square of 1, then multiply by ``weight``."""
    raise NotImplementedError("norm: rms_norm")


# --- rope ------------------------------------------------------------------------------------


def apply_rope(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # [B, T] int64, any order, each row its own
    theta: float,
) -> Tensor:  # [B, H, T, D], x's dtype
    """Turn each pair (x[i], x[i + D/2]) by the angle position * theta**(-2i/D)."""
    raise NotImplementedError("rope: apply_rope")


# --- attention -------------------------------------------------------------------------------


def attention(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D], T <= S, H a multiple of G
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D], q's dtype
    """Causal attention; the last query sees the last key, query head h reads head h // (H / G).

    Raises ValueError if T > S or if H is not a multiple of G.
    """
    raise NotImplementedError("attention: attention")


# --- mlp -------------------------------------------------------------------------------------


def swiglu(
    x: Tensor,  # [..., E]
    w_gate: Tensor,  # [F, E]
    w_up: Tensor,  # [F, E]
    w_down: Tensor,  # [E, F]
) -> Tensor:  # [..., E], x's dtype
    """Return w_down (silu(w_gate x) * w_up x)."""
    raise NotImplementedError("mlp: swiglu")


# --- model -----------------------------------------------------------------------------------


class Llama(nn.Module):
    """tokens [B, T] -> logits [B, T, V]: what may follow each position."""

    def __init__(self, config: LlamaConfig, weights: dict[str, Tensor]) -> None:
        """Keep the weights, which come under their Hugging Face names (listed in the handout).

        With ``config.tie_word_embeddings`` there is no lm_head: the embedding serves as one.
        """
        super().__init__()
        raise NotImplementedError("model: Llama.__init__")

    def forward(self, tokens: Tensor) -> Tensor:  # [B, T] int64 -> [B, T, V]
        """Return the logits of the token that follows each position."""
        raise NotImplementedError("model: Llama.forward")


# --- engine ----------------------------------------------------------------------------------


class Engine:
    """Text in, text out, one sequence at a time."""

    def __init__(self, model_path: str) -> None:
        """Load configuration, weights and tokenizer of a checkpoint folder."""
        raise NotImplementedError("engine: Engine.__init__")

    def generate(self, prompt: list[int], max_new_tokens: int) -> list[int]:
        """Return the greedy continuation: no prompt, and not the EOS that ends it.

        Any id in ``config.eos_token_ids`` ends it. Raises ValueError if the prompt is empty.
        """
        raise NotImplementedError("engine: Engine.generate")

    def execute(
        self, prompts: list[str], max_new_tokens: int = 128, temperature: float = 0.0
    ) -> list[str]:
        """Return the continuation of each prompt, in order, without the prompt.

        Temperature 0 is greedy; above 0, tokens are drawn from softmax(logits / temperature).
        """
        raise NotImplementedError("engine: Engine.execute")
