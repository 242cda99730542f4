"""The given code reads what transformers writes, in its old and its present forms."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import save_file

from labs.common import LlamaConfig, load_tokenizer, load_weights

OLD_FORM = {
    "model_type": "llama",
    "vocab_size": 71,
    "hidden_size": 48,
    "intermediate_size": 90,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 333,
    "rope_theta": 500000.0,
    "bos_token_id": 5,
    "eos_token_id": 7,
}
LLAMA3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
CHECKPOINTS = Path(__file__).parents[2] / "labs" / "checkpoints"
TEXTS = [
    "",
    "def f(x):\n    return x\n",
    "  leading,  double  spaces and a tab\t.",
    "naïve café, 漢字, 🙂\r\n",
    "ends here<|eos|><|bos|>begins again",
]


def write(folder: Path, name: str, value: object) -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder


def test_old_form_of_config_fills_in_what_it_leaves_out(tmp_path: Path) -> None:
    config = LlamaConfig.from_pretrained(write(tmp_path, "config.json", OLD_FORM))

    assert config == LlamaConfig(
        vocab_size=71,
        hidden_size=48,
        intermediate_size=90,
        num_layers=3,
        num_heads=6,
        num_kv_heads=6,
        head_dim=8,
        rms_norm_eps=1e-6,
        rope_theta=500000.0,
        rope_scaling=None,
        max_position_embeddings=333,
        tie_word_embeddings=False,
        bos_token_id=5,
        eos_token_ids=(7,),
    )


@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_old_and_new_form_of_scaling_say_the_same(tmp_path: Path, key: str) -> None:
    old = OLD_FORM | {"rope_scaling": {key: "llama3", **LLAMA3}}
    new = {name: value for name, value in OLD_FORM.items() if name != "rope_theta"}
    new["rope_parameters"] = {"rope_theta": 500000.0, "rope_type": "llama3", **LLAMA3}

    from_old = LlamaConfig.from_pretrained(write(tmp_path, "config.json", old))
    from_new = LlamaConfig.from_pretrained(write(tmp_path, "config.json", new))

    assert from_old == from_new
    assert from_old.rope_theta == 500000.0
    assert from_old.rope_scaling == {"rope_type": "llama3", **LLAMA3}


@pytest.mark.parametrize("scaling", [None, {"rope_type": "llama3", **LLAMA3}])
def test_what_transformers_saves_is_read_back(tmp_path: Path, scaling: dict | None) -> None:
    theirs = transformers.LlamaConfig(
        vocab_size=59,
        hidden_size=60,
        intermediate_size=77,
        num_hidden_layers=3,
        num_attention_heads=10,
        num_key_value_heads=5,
        head_dim=4,
        max_position_embeddings=128,
        rope_parameters={"rope_type": "default", "rope_theta": 2500.0} | (scaling or {}),
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=[2, 9],
    )
    theirs.save_pretrained(tmp_path)

    ours = LlamaConfig.from_pretrained(tmp_path)

    assert (ours.num_layers, ours.num_heads, ours.num_kv_heads, ours.head_dim) == (3, 10, 5, 4)
    assert (ours.vocab_size, ours.hidden_size, ours.intermediate_size) == (59, 60, 77)
    assert (ours.rope_theta, ours.rope_scaling) == (2500.0, scaling)
    assert (ours.tie_word_embeddings, ours.bos_token_id) == (True, 1)
    assert ours.eos_token_ids == (2, 9)


@pytest.mark.parametrize(
    ("in_config", "in_generation", "joined"),
    [
        (7, None, (7,)),
        (7, 7, (7,)),
        (7, [9, 7, 8], (7, 9, 8)),
        ([7, 3], 4, (7, 3, 4)),
        (None, [4, 5], (4, 5)),
        (0, 3, (0, 3)),
        (None, None, ()),
    ],
)
def test_eos_ids_of_both_files_are_joined(
    tmp_path: Path, in_config: object, in_generation: object, joined: tuple[int, ...]
) -> None:
    write(tmp_path, "config.json", OLD_FORM | {"eos_token_id": in_config})
    write(tmp_path, "generation_config.json", {"eos_token_id": in_generation})

    assert LlamaConfig.from_pretrained(tmp_path).eos_token_ids == joined


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"model_type": "gpt2"}, "model_type"),
        ({"attention_bias": True}, "attention_bias"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"num_attention_heads": None}, "num_attention_heads"),
    ],
)
def test_another_architecture_is_refused_by_the_key(
    tmp_path: Path, change: dict, word: str
) -> None:
    write(tmp_path, "config.json", OLD_FORM | change)

    with pytest.raises(ValueError, match=word):
        LlamaConfig.from_pretrained(tmp_path)


def test_shards_are_joined(tmp_path: Path) -> None:
    first, second = {"a.weight": torch.randn(3, 5)}, {"b.weight": torch.randn(7).bfloat16()}
    save_file(first, tmp_path / "model-00001-of-00002.safetensors")
    save_file(second, tmp_path / "model-00002-of-00002.safetensors")
    shards = {"a.weight": "model-00001-of-00002.safetensors"}
    shards["b.weight"] = "model-00002-of-00002.safetensors"
    write(tmp_path, "model.safetensors.index.json", {"weight_map": shards})

    weights = load_weights(tmp_path)

    assert {name: (w.shape, w.dtype) for name, w in weights.items()} == {
        "a.weight": ((3, 5), torch.float32),
        "b.weight": ((7,), torch.bfloat16),
    }
    assert torch.equal(weights["a.weight"], first["a.weight"])
    assert torch.equal(weights["b.weight"], second["b.weight"])


def test_shards_that_transformers_writes_are_read(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=2, head_dim=2
    )
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(tmp_path, max_shard_size="50KB")

    weights = load_weights(tmp_path)

    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert weights.keys() == model.state_dict().keys()
    assert all(torch.equal(weights[name], w) for name, w in model.state_dict().items())


def test_a_lost_shard_is_named(tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors.index.json", {"weight_map": {"a": "gone.safetensors"}})

    with pytest.raises(FileNotFoundError, match=r"gone\.safetensors"):
        load_weights(tmp_path)


def test_a_shard_outside_the_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "model.safetensors.index.json", {"weight_map": {"a": "../x.safetensors"}})

    with pytest.raises(ValueError, match="not a file name"):
        load_weights(tmp_path)


def test_a_tensor_that_no_shard_holds_is_named(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2)}, tmp_path / "s.safetensors")
    index = {"weight_map": {"a": "s.safetensors", "lost": "s.safetensors"}}
    write(tmp_path, "model.safetensors.index.json", index)

    with pytest.raises(ValueError, match="lost"):
        load_weights(tmp_path)


@pytest.mark.parametrize("load", [LlamaConfig.from_pretrained, load_weights, load_tokenizer])
def test_a_missing_folder_or_file_is_named(tmp_path: Path, load) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=tmp_path.name):
        load(str(tmp_path))


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", ["target", "draft"])
def test_tokenizer_agrees_with_transformers(name: str, text: str) -> None:
    ours = load_tokenizer(CHECKPOINTS / name)
    theirs = transformers.AutoTokenizer.from_pretrained(CHECKPOINTS / name)

    ids = ours.encode(text)

    assert ids == theirs.encode(text)
    assert ids[0] == theirs.bos_token_id
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=True)
    assert ours.decode(ids) == text.replace("<|eos|>", "").replace("<|bos|>", "")


@pytest.mark.parametrize(
    "change",
    [
        {"add_bos_token": False, "add_eos_token": True},
        {"tokenizer_class": "PreTrainedTokenizerFast"},
        {"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": True},
    ],
)
def test_settings_beside_the_tokenizer_count(tmp_path: Path, change: dict) -> None:
    for file in CHECKPOINTS.joinpath("target").glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    write(tmp_path, "tokenizer_config.json", settings | change)

    ids = load_tokenizer(tmp_path).encode(TEXTS[1])

    assert ids == transformers.AutoTokenizer.from_pretrained(tmp_path).encode(TEXTS[1])


def test_truncation_left_in_the_file_is_not_applied(tmp_path: Path) -> None:
    for file in CHECKPOINTS.joinpath("target").glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    raw = json.loads((tmp_path / "tokenizer.json").read_text())
    raw["truncation"] = {
        "direction": "Right",
        "max_length": 4,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    write(tmp_path, "tokenizer.json", raw)

    assert load_tokenizer(tmp_path).decode(load_tokenizer(tmp_path).encode(TEXTS[2])) == TEXTS[2]


def test_reading_a_checkpoint_does_not_import_transformers() -> None:
    program = (
        "import sys; from labs.common import *; path = sys.argv[1];"
        "LlamaConfig.from_pretrained(path); load_weights(path); load_tokenizer(path).encode('x');"
        "assert 'transformers' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(CHECKPOINTS / "target")]

    assert subprocess.run(command, cwd=CHECKPOINTS.parents[1]).returncode == 0
