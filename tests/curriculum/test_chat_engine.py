"""``make chat ARGS=--engine``: the text of the given code, told as it comes; and who has none."""

import io
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from labs import chat, engine
from labs.assembly import Assembly
from labs.common import LlamaConfig, load_tokenizer, load_weights

TEXT = "def main("
COUNT = 12


@pytest.fixture(scope="module")
def expected() -> str:
    """What the given code says in float32, as the engine computes on a CPU."""
    options = chat.parse([TEXT, "--max-new-tokens", str(COUNT)])
    weights = {name: weight.float() for name, weight in load_weights(options.model).items()}
    model = Assembly({}, LlamaConfig.from_pretrained(options.model), weights)
    tokenizer = load_tokenizer(options.model)
    return TEXT + tokenizer.decode(chat.generate(model, tokenizer.encode(TEXT), options, {}))


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    code = chat.main([TEXT, "--engine", "--max-new-tokens", str(COUNT), *words])

    out, err = capsys.readouterr()
    assert code == 0, err
    return out, err


@pytest.mark.parametrize(
    "words", [(), ("--speculate", "3"), ("--speculate", "3", "--lookup")], ids=" ".join
)
def test_the_text_is_that_of_the_given_code(
    words: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = said(capsys, *words)

    assert out == expected + "\n"
    assert "the reference engine, in float32 on cpu" in err
    assert f"{COUNT} written: prefill " in err
    assert "decode" in err
    assert ("guesses accepted" in err) == ("--lookup" not in words and bool(words))


def test_seeds_and_filters_go_to_the_engine(
    expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hot = ("--temperature", "3")

    drawn = [said(capsys, *hot, "--seed", seed)[0] for seed in ("1", "1", "2")]

    assert drawn[0] == drawn[1] != drawn[2]
    assert said(capsys, *hot, "--top-k", "1")[0] == expected + "\n"


def test_four_bits_are_enough_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "--quantize", "int4")

    assert out.startswith(TEXT)
    assert f"{COUNT} written" in err


def test_what_is_compiled_is_compiled_before_the_clock_starts(
    expected: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[int] = []

    def compiled(step: Callable[..., Tensor], **_: object) -> Callable[..., Tensor]:
        made.append(1)
        return step

    monkeypatch.setattr(torch, "compile", compiled)

    out, err = said(capsys, "--compile", "--speculate", "2")

    assert out == expected + "\n"
    assert err.startswith("compiling the step, once …\n")
    assert len(made) == 2  # the model's and the draft's


def test_lines_of_the_terminal_are_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("import \n\ndef f(\n"))

    assert chat.main(["--engine", "--max-new-tokens", "2"]) == 0

    out, err = capsys.readouterr()
    assert "import " in out
    assert "def f(" in out
    assert err.count("2 written") == 2


def test_characters_are_shown_whole(capsys: pytest.CaptureFixture[str]) -> None:
    class Bytes:
        """A tokenizer of bytes."""

        def encode(self, text: str) -> list[int]:
            return [*text.encode()]

        def decode(self, ids: list[int]) -> str:
            return bytes(ids).decode(errors="replace")

    class Streams:
        def stream(self) -> object:
            return iter((0, byte) for byte in [*"a→b".encode(), 0xE2])

    served = engine.Served.__new__(engine.Served)
    served.engine, served._tokenizer = Streams(), Bytes()  # type: ignore[assignment]

    assert [*served._pieces([])] == ["a", "", "", "→", "b", "", "\ufffd"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--max-new-tokens", "3000"), "a slot of this engine has 1024"),
        (("--repetition-penalty", "2"), "--repetition-penalty does not go with --engine"),
        (("--quantize", "int8"), "--quantize int8 does not go with --engine: it has int4 only"),
        (("--speculate", "3", "--draft", "nowhere"), "no checkpoint at nowhere"),
        (("--model", "nowhere"), "nowhere"),
        (("--temperature", "1", "--top-p", "3"), "top_p is 3.0"),
    ],
)
def test_what_the_engine_cannot_do_is_said(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chat.main([TEXT, "--engine", *words]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--engine", "--given"), "exclude each other"),
        (("--lookup",), "--lookup needs --engine"),
        (("--engine", "--paged"), "each without the others"),
        (("--compile", "--paged"), "each without the others"),
        (("--compile", "--speculate", "2"), "each without the others"),
        (("--engine", "--lookup"), "--lookup needs --speculate"),
    ],
)
def test_options_that_need_others_say_so(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        chat.main([TEXT, *words])
    assert told in capsys.readouterr().err


def test_a_students_tree_has_no_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "reference"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "reference", None)

    assert chat.main([TEXT, "--engine"]) == 2

    assert "which only the instructors' repository has" in capsys.readouterr().err
