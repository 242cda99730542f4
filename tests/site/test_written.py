"""Pages that no file has: the command line and course.toml, held against their definitions."""

import ast
import re

import pytest
from stand_ins.import_graph import ROOT
from typer.testing import CliRunner

from grader.cli.app import app
from grader.errors import InferlabError
from grader.labs.lab import all_labs
from grader.site.build import build_site
from grader.site.sources.repository import read_repository
from grader.site.sphinx.search import SearchPairs
from grader.site.written.commands import command_page, target_page
from grader.site.written.course_keys import asked, course_keys_page, examples_of
from grader.site.written.front import counts

DOCUMENTS = {
    path: (ROOT / path).read_text(encoding="utf-8")
    for path in ("docs/course.md", "docs/service.md")
}
READERS = [
    *(ROOT / "grader" / "course").glob("rules/*.py"),
    *(
        ROOT / "grader" / "course" / f"{name}.py"
        for name in ("config", "mail", "policy", "platform")
    ),
]
METHODS = {"value", "text", "flag", "number", "whole", "texts"}


def named_in(file):
    """Give the keys that a module names where it reads a table."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(), attr=attr), args=[ast.Constant(str(key)), *_]
            ) if attr in METHODS:
                yield key
            case ast.Call(func=ast.Name(), args=[ast.Name(), ast.Constant(str(key)), *_]):
                yield key  # what reads a key with a rule of its own


def test_each_key_that_the_code_reads_is_on_the_page():
    page = course_keys_page(DOCUMENTS)
    names = {key for file in READERS for key in named_in(file)}

    assert len(names) > 40
    assert sorted(name for name in names if f"| `{name}` |" not in page) == []


def test_what_a_key_must_be_is_what_its_reader_says():
    page = course_keys_page(DOCUMENTS)

    assert '| `mark` | best or last | `"best"` |' in page
    assert "| `requests_days` | a whole number from 0 to 366 | `7` |" in page
    assert "| `title` | a string | *must be there* |" in page


def test_keys_of_other_files_are_none_of_course_toml():
    examples = examples_of(["```toml\n[late]\ndays = 5\n```\n```toml\nreaders = 2\n```\n"])

    assert examples == [{"title": "A course", "late": {"days": 5}}]
    assert "readers" not in asked(examples)


def test_each_command_that_help_lists_has_a_section_with_its_options():
    page = command_page()
    listed = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    commands = re.findall(r"^  ([a-z][a-z-]+)  ", listed.partition("Commands:")[2], re.MULTILINE)

    assert len(commands) > 15
    assert [
        name for name in commands if not re.search(rf"^## lab {name}\b", page, re.MULTILINE)
    ] == []
    assert "`--sandbox auto|required|none`" in page or "`--sandbox" in page
    assert "## lab gradebook extend\n" in page


def test_each_target_that_make_help_lists_has_a_row():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)
    page = target_page(makefile)

    assert [name for name in targets if f"| `make {name}` |" not in page] == []


def test_a_number_of_the_first_page_is_the_sum_over_the_labs():
    labs = all_labs(ROOT)
    found = counts(labs, read_repository(ROOT))

    assert int(found["field"].replace(",", "")) == len([*ROOT.glob("tests/field/*/*.py")])
    assert found["number"] == str(len(labs))


def test_chinese_is_searched_by_each_two_characters():
    terms = SearchPairs({}).split("用 KV cache 的投机采样，batch_size")

    assert terms == ["用", "KV", "cache", "的投", "投机", "机采", "采样", "batch_size"]


def test_a_folder_that_is_no_site_is_not_emptied(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")

    with pytest.raises(InferlabError, match="not empty"):
        build_site(ROOT, tmp_path)

    assert (tmp_path / "thesis.tex").is_file()
