"""Llamas to test with: random ones of any shape, checkpoints read from disk and written to it.

Suites read checkpoints here and not through the given code, which runs beside the submission.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import (
    load_file,  # pyright: ignore[reportUnknownVariableType]  # half annotated
    save_file,  # pyright: ignore[reportUnknownVariableType]
)
from torch import Tensor

# The fields of the given LlamaConfig: all sizes distinct, H * D is not E, E and F are odd.
FIELDS: dict[str, Any] = {
    "vocab_size": 53,
    "hidden_size": 35,
    "intermediate_size": 41,
    "num_layers": 2,
    "num_heads": 6,
    "num_kv_heads": 2,
    "head_dim": 10,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10_000.0,
    "rope_scaling": None,
    "max_position_embeddings": 512,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_ids": (),
}
HUGGING_FACE_NAMES = {  # of the fields that config.json calls otherwise
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
}
NOT_COPIED = ("rope_theta", "rope_scaling", "eos_token_ids")
EOS_FILE = "generation_config.json"
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class Model:
    """The fields of a configuration, and weights under their Hugging Face names."""

    fields: dict[str, Any]
    weights: dict[str, Tensor]

    @property
    def exact(self) -> tuple[Any, Mapping[str, Tensor]]:
        """Configuration and float64 weights: what makes the oracle the truth."""
        return self.in_dtype(torch.float64).rounded

    @property
    def rounded(self) -> tuple[Any, Mapping[str, Tensor]]:
        """Configuration and weights as they are: what makes the oracle a trusted implementation."""
        return SimpleNamespace(**self.fields), self.weights

    def in_dtype(self, dtype: torch.dtype) -> "Model":
        """Return the same model with its weights in another dtype."""
        return Model(self.fields, {name: w.to(dtype) for name, w in self.weights.items()})


def random_model(normal: Callable[..., Tensor], **changes: Any) -> Model:
    """Draw a model in which every part matters: attention is sharp, norm weights are uneven.

    ``normal(*shape, scale=, shift=)`` draws a tensor; ``changes`` replace some of ``FIELDS``.
    """
    f = FIELDS | changes
    wide, inner, width = f["hidden_size"], f["intermediate_size"], f["head_dim"]

    def matrix(out: int, into: int) -> Tensor:
        return normal(out, into, scale=1.5 * into**-0.5)

    def norm() -> Tensor:
        return normal(wide, scale=0.3, shift=1.0)

    weights = {"model.embed_tokens.weight": normal(f["vocab_size"], wide)}
    for i in range(f["num_layers"]):
        layer = {
            "input_layernorm": norm(),
            "self_attn.q_proj": matrix(f["num_heads"] * width, wide),
            "self_attn.k_proj": matrix(f["num_kv_heads"] * width, wide),
            "self_attn.v_proj": matrix(f["num_kv_heads"] * width, wide),
            "self_attn.o_proj": matrix(wide, f["num_heads"] * width),
            "post_attention_layernorm": norm(),
            "mlp.gate_proj": matrix(inner, wide),
            "mlp.up_proj": matrix(inner, wide),
            "mlp.down_proj": matrix(wide, inner),
        }
        weights |= {f"model.layers.{i}.{name}.weight": value for name, value in layer.items()}
    weights["model.norm.weight"] = norm()
    if not f["tie_word_embeddings"]:
        weights["lm_head.weight"] = matrix(f["vocab_size"], wide)
    return Model(f, weights)


def read(folder: Path) -> Model:
    """Read a checkpoint, weights as stored; RoPE scaling is not looked at."""
    raw = _json(folder / "config.json")
    eos = [*_as_list(raw["eos_token_id"]), *_as_list(_json(folder / EOS_FILE).get("eos_token_id"))]
    # Older files leave out what follows from the rest.
    heads = raw["num_attention_heads"]
    raw["num_key_value_heads"] = raw.get("num_key_value_heads") or heads
    raw["head_dim"] = raw.get("head_dim") or raw["hidden_size"] // heads
    raw["tie_word_embeddings"] = raw.get("tie_word_embeddings", False)
    raw["bos_token_id"] = raw.get("bos_token_id")
    copied = (name for name in FIELDS if name not in NOT_COPIED)
    fields = {name: raw[HUGGING_FACE_NAMES.get(name, name)] for name in copied}
    theta = (raw.get("rope_parameters") or raw).get("rope_theta", 10_000.0)
    fields |= {"rope_theta": theta, "rope_scaling": None, "eos_token_ids": tuple(eos)}
    weights: dict[str, Tensor] = {}
    for shard in sorted(folder.glob("model*.safetensors")):
        weights |= load_file(shard)
    return Model(fields, weights)


def write(folder: Path, model: Model, tokenizer: Path, eos: Any, generation_eos: Any) -> None:
    """Write a checkpoint that transformers can read too, with the tokenizer files of another.

    ``eos`` goes to config.json, ``generation_eos`` to generation_config.json: an id, ids or None.
    """
    copied = {name: value for name, value in model.fields.items() if name not in NOT_COPIED}
    rope = {"rope_type": "default", "rope_theta": model.fields["rope_theta"]}
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "dtype": str(model.weights["model.norm.weight"].dtype).removeprefix("torch."),
        "rope_parameters": rope,
        "eos_token_id": eos,
    } | {HUGGING_FACE_NAMES.get(name, name): value for name, value in copied.items()}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / EOS_FILE).write_text(json.dumps({"eos_token_id": generation_eos}))
    save_file(model.weights, folder / "model.safetensors", metadata={"format": "pt"})
    for name in TOKENIZER_FILES:
        shutil.copyfile(tokenizer / name, folder / name)
    for file in folder.iterdir():
        file.chmod(0o644)  # the worker may run as another user


def _json(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _as_list(ids: int | list[int] | None) -> list[int]:
    if ids is None:
        return []
    return [ids] if isinstance(ids, int) else ids
