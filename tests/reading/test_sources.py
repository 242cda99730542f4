"""Words that rules forbid in C++: found where they are code, and nowhere else."""

import dataclasses
import time

import pytest

from grader.labs.build import Build, SourceRule
from grader.reading.sources import violations

RULE = SourceRule("write the loop", ("*_call_dispatcher", "dlsym"))
BUILD = Build("x", ("x.cpp",), ("g++",), "", rules=(RULE,))


def found(text: str) -> list[str]:
    return violations(BUILD, {"x.cpp": text.encode()})


def test_a_word_is_shown_with_its_line_and_the_reason() -> None:
    said = found("int a;\n\n  torch_call_dispatcher(b);\n")

    assert said == ["x.cpp, line 3: torch_call_dispatcher is not allowed: write the loop"]


@pytest.mark.parametrize(
    "text",
    [
        "// dlsym(1)\n",
        "/* one\n dlsym(1)\n*/ int a;",
        'const char* a = "dlsym";',
        'const char* a = "\\"dlsym";',
        "char a = '\"'; // dlsym\n",
        "int my_dlsym_count, dlsyms, call_dispatcher_;",
        "int a = 1'000'000;\n",
        "/* dlsym without an end",
        '"dlsym without an end',
    ],
)
def test_a_word_in_a_comment_or_a_string_is_none(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "dl\\\nsym(1);",
        "char a = '\"'; dlsym(1); char b = '\"';",
        "/**/dlsym(1);/**/",
        "#define F dlsym\n",
        "int a = 1'000 + dlsym(1);",
        '"//"; dlsym(1);',
    ],
)
def test_a_word_is_found_however_it_is_written(text: str) -> None:
    assert len(found(text)) == 1


def test_lines_are_counted_as_an_editor_does() -> None:
    assert "line 7:" in found("/*\n\n*/ // a \\\n b\n#define A \\\n dlsym\ndlsym\n")[-1]


def test_many_are_cut() -> None:
    assert found("dlsym\n" * 9)[-1] == "and 4 more"


def test_each_source_is_read() -> None:
    build = dataclasses.replace(BUILD, sources=("x.cpp", "x.cu"))

    said = violations(build, {"x.cpp": b"int a;", "x.cu": b"dlsym"})

    assert said == ["x.cu, line 1: dlsym is not allowed: write the loop"]


@pytest.mark.parametrize("piece", ["/*", '"', '\\"', "'", "//", "/*/", "\\\n", "a"])
def test_no_text_takes_longer_than_its_length(piece: str) -> None:
    started = time.process_time()

    found(piece * (400_000 // len(piece)))

    assert time.process_time() - started < 5
