"""The pictures of the labs: drawn, changed by each of their parameters, told in words, current."""

import functools
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from grader import ROOT
from grader.course.publishing.illustrate import changes
from grader.errors import LabError, UsageError
from grader.labs.documents.pictures import Picture, PictureFunction, load, pictures
from grader.labs.documents.svg import differs, to_svg
from grader.labs.lab import Lab, all_labs

LABS = all_labs(ROOT)
SCALES = re.compile(r"scale\(([^)]*)\)")
LEAST_INK = 0.01  # of the pixels are not white


def every_picture() -> Iterator[Any]:
    for lab in LABS:
        for function in pictures(lab):
            yield pytest.param(function, id=f"{lab.topic}-{function.name}")


@functools.cache
def drawn(function: str, **parameters: Any) -> Picture:
    return FUNCTIONS[function](**parameters)


@functools.cache
def usual_pixels(function: str) -> numpy.ndarray:
    return pixels(drawn(function))


def pixels(picture: Picture) -> numpy.ndarray:
    file = io.BytesIO()
    picture.figure.savefig(file, format="png", dpi=40)
    return numpy.asarray(Image.open(file).convert("L"))


PICTURES = list(every_picture())
FUNCTIONS: dict[str, PictureFunction] = {item.values[0].name: item.values[0] for item in PICTURES}
CHOICES = [
    pytest.param(item.values[0], name, value, id=f"{item.id}-{name}-{value}")
    for item in PICTURES
    for name, values in item.values[0].choices.items()
    for value in values
]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_each_lab_has_two_pictures_at_least(lab: Lab) -> None:
    assert len(pictures(lab)) >= 2


@pytest.mark.parametrize("function", PICTURES)
def test_a_picture_says_what_one_should_see(function: PictureFunction) -> None:
    assert len(function.says.split()) > 15
    assert function.choices.keys() == function.parameters.keys()


@pytest.mark.parametrize("function", PICTURES)
def test_a_picture_has_ink_and_a_text_with_numbers(function: PictureFunction) -> None:
    picture = drawn(function.name)

    assert (usual_pixels(function.name) < 200).mean() > LEAST_INK
    assert len(re.findall(r"\d", picture.text)) >= 3
    assert 60 < len(picture.text) < 600


@pytest.mark.parametrize(("function", "name", "value"), CHOICES)
def test_each_parameter_changes_the_picture_and_its_text(
    function: PictureFunction, name: str, value: Any
) -> None:
    usual, other = drawn(function.name), function(**{name: value})

    assert other.text != usual.text
    if value != function.choices[name][0]:
        return  # the words say enough: laying a picture out takes its time
    one, two = usual_pixels(function.name), pixels(other)
    assert one.shape != two.shape or (abs(one.astype(int) - two) > 25).sum() > 5


@pytest.mark.parametrize("function", PICTURES)
def test_letters_can_be_read(function: PictureFunction) -> None:
    from matplotlib.text import Text

    letters = drawn(function.name).figure.findobj(Text)

    assert min(item.get_fontsize() for item in letters if item.get_text().strip()) >= 8


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_handouts_show_what_is_drawn_now(lab: Lab) -> None:
    assert [change.file.name for change in changes([lab])] == []


def test_an_svg_is_the_same_each_time_and_holds_its_text() -> None:
    function = FUNCTIONS["attention_pattern"]

    first, second = to_svg(function()), to_svg(function())

    assert first == second
    assert f"<title>{function().text}</title>" in first
    assert "fill: #ffffff" in first, "a page may be dark"
    assert 'href="http' not in first


@pytest.mark.parametrize("file", sorted(ROOT.glob("labs/*/pictures/*.svg")), ids=lambda f: f.stem)
def test_letters_of_an_svg_have_a_size(file: Path) -> None:
    svg = file.read_text()
    numbers = [float(n) for found in SCALES.findall(svg) for n in found.split()]

    assert svg.count("<use ") > 20, "letters are outlines that are used"
    assert numbers
    assert all(abs(number) > 0.01 for number in numbers)
    assert differs(svg, svg.replace("scale(0.0156", "scale(0.0256"))


def test_rounding_is_no_difference_and_another_number_or_image_is() -> None:
    svg = to_svg(FUNCTIONS["attention_pattern"]())
    other = to_svg(FUNCTIONS["attention_pattern"](head=5))

    assert not differs('<path d="M 10.1 20.0"/>', '<path d="M 10.2 20.0"/>')
    assert differs('<path d="M 10.1 20.0"/>', '<path d="M 14.1 20.0"/>')
    assert differs('<path d="M 10.1"/>', '<path d="M 10.1 20.0"/>')
    assert not differs(svg, svg)
    assert differs(svg, re.sub(IMAGE, re.search(IMAGE, other)[0], svg))  # pyright: ignore


IMAGE = r"data:image/png;base64,[A-Za-z0-9+/=\s]+"


def example(tmp_path: Path, task: str = "norm") -> Lab:
    """The first lab with a file of pictures of its own."""
    folder = tmp_path / "labs" / "01_llama"
    folder.mkdir(parents=True)
    for name in ("lab.toml", "README.md"):
        (folder / name).write_bytes((ROOT / "labs" / "01_llama" / name).read_bytes())
    plots = tmp_path / "labs" / "plots"
    plots.mkdir()
    (plots / "llama.py").write_text(
        "from labs.plots import explains, figure\n\n"
        f"@explains({task!r})\ndef line():\n"
        "    drawn, axes = figure()\n    axes.plot([1, 2])\n    return drawn, 'from 1 to 2'\n"
    )
    return next(iter(all_labs(tmp_path)))


def test_a_lab_without_a_file_has_no_pictures(tmp_path: Path) -> None:
    lab = example(tmp_path)
    (tmp_path / "labs" / "plots" / "llama.py").unlink()

    assert pictures(lab) == ()


def test_a_picture_of_no_task_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="line explains 'nrom', which is no task"):
        pictures(example(tmp_path, "nrom"))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "labs.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)

    with pytest.raises(UsageError, match="notebook"):
        load(ROOT / "labs" / "plots" / "llama.py", ROOT)


def test_a_handout_that_does_not_show_a_picture_is_an_error(tmp_path: Path) -> None:
    lab = example(tmp_path)

    with pytest.raises(LabError, match=r"shows line\.svg 0 times"):
        list(changes([lab]))


def test_a_picture_gets_its_text_and_what_belongs_to_none_goes(tmp_path: Path) -> None:
    lab = example(tmp_path)
    lab.handout.write_text("# Lab\n\n![](pictures/line.svg)\n")
    (lab.folder / "pictures").mkdir()
    (lab.folder / "pictures" / "old.svg").write_text("<svg/>")

    found = {change.file.name: change.text for change in changes([lab])}

    assert found.keys() == {"line.svg", "README.md", "old.svg"}
    assert found["README.md"] == "# Lab\n\n![from 1 to 2](pictures/line.svg)\n"
    assert found["old.svg"] is None
