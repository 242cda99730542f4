"""Given code: what a checkpoint folder in Hugging Face format says, without importing transformers.

Importing transformers takes seconds; a lab needs the three files below and no more.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from safetensors.torch import load_file
from torch import Tensor


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """The shape of a Llama, under one name each whatever the version that wrote the file."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    rope_scaling: dict[str, Any] | None  # with "rope_type"; None = plain RoPE
    max_position_embeddings: int
    tie_word_embeddings: bool
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]  # a sequence ends at any of them

    @classmethod
    def from_pretrained(cls, path: str | Path) -> Self:
        """Read ``config.json`` and, for the EOS ids, ``generation_config.json`` where there is one.

        Raises FileNotFoundError without ``config.json``, ValueError for what is not a plain Llama.
        """
        file = _folder(path) / "config.json"
        raw = _read_json(file)
        _check_is_llama(raw, file)
        generation = file.with_name("generation_config.json")
        eos = _as_ids(raw.get("eos_token_id"))
        if generation.is_file():
            eos += _as_ids(_read_json(generation).get("eos_token_id"))
        theta, scaling = _rope(raw)
        heads = raw["num_attention_heads"]
        return cls(
            vocab_size=raw["vocab_size"],
            hidden_size=raw["hidden_size"],
            intermediate_size=raw["intermediate_size"],
            num_layers=raw["num_hidden_layers"],
            num_heads=heads,
            num_kv_heads=raw.get("num_key_value_heads") or heads,
            head_dim=raw.get("head_dim") or raw["hidden_size"] // heads,
            rms_norm_eps=raw.get("rms_norm_eps", 1e-6),
            rope_theta=theta,
            rope_scaling=scaling,
            max_position_embeddings=raw.get("max_position_embeddings", 2048),
            tie_word_embeddings=raw.get("tie_word_embeddings", False),
            bos_token_id=raw.get("bos_token_id"),
            eos_token_ids=tuple(dict.fromkeys(eos)),  # each once, in the order found
        )


def load_weights(path: str | Path) -> dict[str, Tensor]:
    """Read the safetensors of a checkpoint, one file or shards, under their Hugging Face names."""
    folder = _folder(path)
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return load_file(single)
    if not index.is_file():
        raise FileNotFoundError(f"{folder} holds neither {single.name} nor {index.name}")
    shard_of: dict[str, str] = _read_json(index).get("weight_map", {})
    weights: dict[str, Tensor] = {}
    for shard in sorted(set(shard_of.values())):
        if Path(shard).name != shard:
            raise ValueError(f"{index}: {shard!r} is not a file name")
        if not (folder / shard).is_file():
            raise FileNotFoundError(f"{index} names {shard}, which is not in {folder}")
        weights |= load_file(folder / shard)
    if missing := sorted(shard_of.keys() - weights.keys()):
        raise ValueError(f"{index}: no shard holds {', '.join(missing[:3])}")
    return weights


class Tokenizer:
    """Text to token ids and back, as transformers does it."""

    def __init__(self, backend: Any) -> None:
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend

    def encode(self, text: str) -> list[int]:
        """Return the ids of ``text`` with the special tokens that the model expects around it."""
        return self._backend.encode(text).ids

    def decode(self, ids: list[int]) -> str:
        """Return the text of ``ids``; special tokens are left out."""
        return self._backend.decode(ids, skip_special_tokens=True)


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Read the tokenizer of a checkpoint; its ids are those of transformers' ``AutoTokenizer``."""
    folder = _folder(path)
    file, settings_file = folder / "tokenizer.json", folder / "tokenizer_config.json"
    settings = _read_json(settings_file) if settings_file.is_file() else {}
    # These classes take tokenizer.json as it is. Others, and these keys, make transformers
    # change it while loading, so there we pay for the import and ask transformers itself.
    as_is = settings.get("tokenizer_class") in ("PreTrainedTokenizerFast", "TokenizersBackend")
    if file.is_file() and as_is and not {"add_bos_token", "add_eos_token"} & settings.keys():
        from tokenizers import Tokenizer as Backend

        return Tokenizer(Backend.from_file(str(file)))
    if not file.is_file() and not (folder / "tokenizer.model").is_file():
        raise FileNotFoundError(f"{folder} holds neither tokenizer.json nor tokenizer.model")
    from transformers import AutoTokenizer

    return Tokenizer(AutoTokenizer.from_pretrained(folder).backend_tokenizer)


def _folder(path: str | Path) -> Path:
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"no checkpoint folder at {folder}")
    return folder


def _read_json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        raise FileNotFoundError(f"{file.parent} holds no {file.name}")
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{file} holds a {type(value).__name__}, not an object")
    return value


def _check_is_llama(raw: dict[str, Any], file: Path) -> None:
    """Refuse what would load and then compute something else."""
    needed = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads"
    if missing := [key for key in needed.split() if not isinstance(raw.get(key), int)]:
        raise ValueError(f"{file} lacks {', '.join(missing)}")
    expected = {
        "model_type": "llama",
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
    }
    for key, value in expected.items():
        if raw.get(key, value) != value:
            raise ValueError(f"{file}: {key} is {raw[key]!r}; the labs run {value!r} only")


def _rope(raw: dict[str, Any]) -> tuple[float, dict[str, Any] | None]:
    """Return theta and scaling from ``rope_parameters`` or from the two older keys."""
    merged = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    scaling = {key: value for key, value in merged.items() if key not in ("rope_theta", "type")}
    scaling["rope_type"] = merged.get("rope_type") or merged.get("type") or "default"
    theta = float(merged.get("rope_theta") or raw.get("rope_theta") or 10_000.0)
    return theta, None if scaling["rope_type"] == "default" else scaling


def _as_ids(value: int | list[int] | None) -> list[int]:
    if value is None:
        return []
    return [value] if isinstance(value, int) else list(value)
