"""PSEUDOCODE.md in Chinese: what earns the points in English earns them, and what does not, not."""

import re
import time
from pathlib import Path

import pytest

from grader.labs.documents.submission import Submission
from grader.labs.lab import Lab, Limits, all_labs
from grader.labs.task import Task
from grader.labs.translations.files import translation
from grader.reading.pseudocode.pasted import bare
from grader.reading.pseudocode.pseudocode import grade_pseudocode
from grader.reading.pseudocode.words import halfwidth, weigh, words

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = Path(__file__).with_name("chinese")
LABS = all_labs(ROOT)
ANSWERED = [lab for lab in LABS if (ANSWERS / f"{lab.name}.md").is_file()]
TRANSLATED = [lab for lab in LABS if translation(lab.pseudocode).is_file()]

ENGLISH = """# Pseudocode

## norm

> Inputs: `x`, `weight` and `eps`. Say which quantity is computed from a row, where `eps` enters it
> and when `weight` comes in. Invariant to state: what is the size of a row before that?
"""
CHINESE = """# 伪代码
<!-- en: 0123456789ab -->

## norm
<!-- en: 0123456789ab -->

> 输入：`x`、`weight` 和 `eps`。说明由一行算出什么量，`eps` 在哪里加进去，`weight` 什么时候用上，
> 每一步用什么精度。须写明的不变式：乘上 `weight` 之前，一行的均方根是多少？
"""
HANDOUT = """# 实验 01

## 任务 1：norm（10 分）

y = x / sqrt(mean(x²) + eps) · weight，沿最后一维。什么也不减去。float16 到 65504 为止：256 的平方在
那里已经是无穷大。每一行的均方根在 float32 中求出，先用它去除每一个元素，然后才乘上权重。
"""
STUB = '''"""实验 01。"""


def rms_norm(
    x: Tensor,  # 各行，dtype 任意，前面有几个轴都可以
    weight: Tensor,
    eps: float,
) -> Tensor:
    """把 x 的最后一维缩放到均方根为一，再乘以 weight。

    很小的数 eps 让整行都是零的时候除法仍然有限。
    """
    raise NotImplementedError("norm: rms_norm")
'''
CODE = '''def rms_norm(x, weight, eps):
    """先把 x 变宽，再除以均方根。"""
    # 平方之前必须变宽，否则半精度会溢出
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)  # [..., 1]
    return (wide * scale).to(x.dtype) * weight
'''


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    folder = tmp_path / "labs" / "01_llama"
    folder.mkdir(parents=True)
    files = {"PSEUDOCODE.md": ENGLISH, "PSEUDOCODE.zh.md": CHINESE, "README.zh.md": HANDOUT}
    for name, text in (files | {"llama.zh.py": STUB}).items():
        (folder / name).write_text(text, encoding="utf-8")
    norm = Task("norm", "t", 95, "h", steps=3, names=("x", "weight", "eps"))
    tasks = (norm, Task("pseudocode", "t", 5, "h"))
    return Lab(
        *(1, "01_llama", "llama", tmp_path, folder, "t", "s", (), (), (), Limits(), (), tasks)
    )


def missed(lab: Lab, text: str, code: str = CODE) -> dict[str, str]:
    """The messages of the tests that did not pass, by id."""
    files = {lab.code_name: code.encode(), "PSEUDOCODE.md": text.encode()}
    submission = Submission(files, "0", Path("/clean"), lab.code_name, Path("/source"), False)
    results = grade_pseudocode(lab, submission).results
    return {result.id: result.message for result in results if result.verdict != "passed"}


def verdict(lab: Lab, answer: str, asked: str = CHINESE) -> str:
    """The message of the section, "" if it passed."""
    return missed(lab, f"{asked}\n{answer}\n").get("pseudocode[norm]", "")


@pytest.mark.parametrize("lab", ANSWERED, ids=lambda lab: lab.name)
def test_an_answer_in_chinese_earns_every_section_of_a_lab(lab: Lab) -> None:
    text = (ANSWERS / f"{lab.name}.md").read_text(encoding="utf-8")
    code = (lab.solutions / lab.code_name).read_text(encoding="utf-8")

    assert missed(lab, text, code) == {}


def test_the_first_ten_labs_have_such_an_answer() -> None:
    assert [lab.number for lab in ANSWERED] == [*range(1, 11)]


@pytest.mark.parametrize("lab", TRANSLATED, ids=lambda lab: lab.name)
def test_the_chinese_words_of_a_lab_are_no_answer_to_its_prompts(lab: Lab) -> None:
    prompts = translation(lab.pseudocode).read_text(encoding="utf-8").replace("> ", "")
    handout = translation(lab.handout).read_text(encoding="utf-8").replace("## ", "")
    clauses = re.sub(r"(?<=[，。：；？])(?=.)", "\n1、", prompts)
    pasted = "".join(f"## {task.id}\n{handout}\n" for task in lab.tasks)

    for text in (prompts, clauses, pasted):
        passed = {task.id for task in lab.tasks[:-1]} - {
            name.removeprefix("pseudocode[").removesuffix("]") for name in missed(lab, text)
        }
        assert passed == set()


HONEST = {
    "numbered": "1. 把 `x` 升到 float32\n2、求平方的平均值，再加 `eps`\n(3) 除以它的平方根\n"
    "④ 乘上 `weight`，每一行的大小在这之前恒为一",
    "without a space": "把x升到float32\n求平方的平均值再加eps\n除以它的平方根\n最后乘weight\n"
    "每行大小不变",
    "terse": "x转float32\n求均值,加eps\n开方,相除\n乘weight,始终单精度",
    "verbose": "首先，这一行 x 要变成 float32，不然半精度里平方会溢出。\n"
    "接着看它的全部元素，各自平方，算出平均有多大。\n"
    "平均值加上微小的 eps，这样空信号也永远不会除以零。\n"
    "然后开平方，拿每个元素去除，最后逐个乘自己的 weight 并舍入回来。",
    "formulas": "全程 float32\nm = sum(x * x) / E，每行一个\nr = 1 / sqrt(m + eps)\n"
    "y = x * r * weight\n舍入一次，回到原来的 dtype",
    "wide signs": "ｍ＝平方之和／Ｅ，每行一个\nｒ＝１／根号（ｍ＋eps）\n"
    "结果＝x × ｒ × weight（舍入一次）",
    "a table": "| 步骤 | 做法 |\n| --- | --- |\n| 1 | x 转成 float32 |\n"
    "| 2 | 平方求平均，加 eps |\n"
    "| 3 | 每个元素除以根 |\n| 4 | 乘 weight |",
    "code mentioned": "调用 `x.float()`，让平方保持有限\n"
    "沿最后一维取平方的平均（`mean(-1)`），加 eps\n"
    "除以平方根，再乘 weight，每次都在单精度里",
    "one line of Python": "wide = x.float()\n平方的平均值加上eps放进根号\n"
    "变宽的那一行逐个元素除以这个根\n"
    "weight最后缩放每一列",
    "mixed": "widen x 到 float32\naverage 它的平方, plus eps\n除以 root of that\n"
    "times weight，每行大小 one",
    "both languages": "widen the row x to float32\n求平方的平均值，加上 eps\ndivide by the root\n"
    "最后乘 weight\n不变量：每行均方根为一",
    "headings": "### 统计量\n- 把 x 变宽\n- 全部平方求平均，加 eps\n### 缩放\n- 除以根\n"
    "- 乘 weight",
    "traditional": "把 x 轉成 float32\n求平方的平均，加上 eps\n除以平方根\n"
    "乘 weight，所有行大小相同",
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_honest_steps_in_chinese_pass(lab: Lab, text: str) -> None:
    assert verdict(lab, text) == ""
    assert verdict(lab, text, ENGLISH) == ""


NO_ANSWERS = {
    "the prompt": (
        "由一行算出什么量\n`eps` 在哪里加进去\n`weight` 什么时候用上\n每一步用什么精度",
        "empty",
    ),
    "the prompt in other lines": (
        "- 由一行算出什么量，`eps` 在哪里\n- 加进去，`weight` 什么时候用上，每一步\n- 用什么精度",
        "empty",
    ),
    "the prompt in another order": (
        "1、乘上 weight 之前，每一步用什么精度\n2、eps 在哪里加进去，说明由一行算出什么量\n"
        "3、一行的均方根是多少，weight 什么时候用上，x",
        "text of the prompt",
    ),
    "the prompt's words shuffled": (
        "多少均方根x一行量什么\n哪里eps加进去算出\n精度什么用每一步weight\n乘上时候之前不变式",
        "text of the prompt",
    ),
    "the handout": (
        "float16 到 65504 为止，256 的平方在那里已经是无穷大\n每一行的均方根在 float32 中求出\n"
        "先用它去除每一个元素\n然后才乘上权重\nx、weight、eps",
        "text of the handout",
    ),
    "the handout without its spaces": (
        "256的平方在那里已经是无穷大\n每一行的均方根在float32中求出,先用它去除每一个元素\n"
        "然后才乘上权重,什么也不减去\nx,weight,eps",
        "text of the handout",
    ),
    "the stub's docstring": (
        "把x的最后一维缩放到均方根为一\n再乘以weight\n很小的数eps让整行都是零的时候除法仍然有限",
        "text of the handout",
    ),
    "a sentence again and again": (
        "\n".join(f"{n}、把 x 变宽，除以平方根，加 eps，始终乘 weight" for n in range(1, 9)),
        "1 step, at least 3",
    ),
    "a sentence with numerals": (
        "\n".join(f"第{n}步把x变宽，除以平方根，加eps，始终乘weight" for n in "一二三四五六"),
        "1 step, at least 3",
    ),
    "a sentence with figures": (
        "\n".join(f"把 x 变宽，除以平方根，加 eps，始终乘 weight（{n}）" for n in range(9)),
        "1 step, at least 3",
    ),
    "names": ("输入 x\n参数 weight\n使用 eps", "at least 3"),
    "names in a row": ("x、weight、eps\nweight、eps 和 x\n再用到 eps 与 weight", "at least 3"),
    "a word again and again": ("始终 x\n始终 weight\n始终 eps", "little"),
    "a word glued to names": ("归一x\n归一weight\n归一eps", "little"),
    "padding": ("对 x 进行处理\n对 weight 进行处理\n对 eps 进行处理", "at least 3"),
    "single words": ("- 待办\n- 略\n- 权\n- 根", "empty"),
    "numbers": ("1、\n2、\n第三步\n④", "empty"),
}


@pytest.mark.parametrize(("text", "message"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_in_english_is_none_in_chinese(lab: Lab, text: str, message: str) -> None:
    for asked in (CHINESE, "## norm\n"):  # also where the quoted prompt was taken out
        assert message in verdict(lab, text, asked)


BODY = CODE.split("\n", 3)[3]
WIDE = str.maketrans("()=.,*+", "（）＝．，＊＋")
PASTED = {
    "as it is": CODE,
    "with wide signs": BODY.translate(WIDE),
    "with Chinese before each line": "".join(f"然后 {s.strip()}\n" for s in BODY.splitlines()),
    "after a label": "".join(
        f"{n}、执行：{s.strip()}\n" for n, s in enumerate(BODY.splitlines(), 1)
    ),
    "with Chinese comments": "".join(f"{s}  # 变宽以后再算平方\n" for s in BODY.splitlines()),
    "with Chinese names": BODY.replace("wide", "宽").replace("scale", "缩放"),
}


@pytest.mark.parametrize("text", PASTED.values(), ids=PASTED)
def test_python_stays_python_among_chinese(lab: Lab, text: str) -> None:
    assert "Python" in verdict(lab, f"{text}\nx、weight 和 eps 都不变")


UNSTATED = "把 x 升到 float32\n求平方的均值，加上 eps\n除以它的平方根\n再乘以 weight"
STATED = [
    *(
        "不变式：一行的均方根为一",
        "不变量:大小为一",
        "行的大小始终是一",
        "大小总是一",
        "形状保持原样",
    ),
    *(
        "大小恒等于一",
        "行从不变长",
        "dtype 不变",
        "每行大小为一",
        "任何一行的大小为一",
        "大小至多为一",
    ),
    *("各行大小都是一", "大小不超过一", "无论输入如何，大小为一", "前后长度相同", "没有一行变长"),
    *("大小永远为一", "只有最后一维变了", "行数等于输入的行数", "大小必为一", "rows == 一"),
]


@pytest.mark.parametrize("line", STATED)
def test_an_invariant_is_known_by_chinese_words(lab: Lab, line: str) -> None:
    assert verdict(lab, UNSTATED) == "states no invariant: the prompt asks for one"
    assert verdict(lab, f"{UNSTATED}\n{line}") == ""


@pytest.mark.parametrize("asks", ["须写明的不变式：", "须写明的不变量：", "不变量: "])
def test_a_prompt_in_chinese_alone_asks_for_an_invariant_too(lab: Lab, asks: str) -> None:
    asked = f"## norm\n\n> 说明怎样处理一行。{asks}大小是多少？\n"
    lab.pseudocode.write_text(asked, encoding="utf-8")

    assert "states no invariant" in verdict(lab, UNSTATED, asked)


@pytest.mark.parametrize(
    "heading", ["## norm", "## norm（归一化）", "## `norm` 归一化", "## norm归一化"]
)
def test_a_heading_with_chinese_behind_it_is_found(lab: Lab, heading: str) -> None:
    text = f"{heading}\n{HONEST['numbered']}\n\n## 备注\n以上全部由我自己写成\n"

    assert missed(lab, text) == {}


@pytest.mark.parametrize("name", ["xs", "x1", "weight_", "epsilon"])
def test_a_name_within_a_longer_one_is_no_mention(lab: Lab, name: str) -> None:
    short = next(n for n in ("x", "weight", "eps") if name.startswith(n))
    text = re.sub(rf"(?<![a-z]){short}(?![a-z])", name, HONEST["without a space"])

    assert verdict(lab, text) == f"does not mention {short}"


def test_a_chinese_word_has_two_characters_on_average() -> None:
    assert words("把x升到 Float32，求均值") == ["把", "x", "升", "到", "float32", "求", "均", "值"]
    assert weigh(words("求平方的均值")) == 3
    assert weigh(words("divide by the root")) == 4
    assert halfwidth("（ｘ＝１），；：") == "(x=1), ; : "


@pytest.mark.parametrize(
    "line",
    [
        "1、把 x",
        "（1）把 x",
        "①把 x",
        "第一步：把 x",
        "步骤 2 把 x",
        "十、把 x",
        "1.把 x",
        "- 把 x",
    ],
)
def test_marks_of_lists_are_no_words(line: str) -> None:
    assert bare(halfwidth(line)) == "把 x"


@pytest.mark.parametrize("line", ["第一行除以 n", "三个矩阵", "0.5倍", "1:1 对应", "一步一步地做"])
def test_numbers_that_say_something_stay(line: str) -> None:
    assert bare(line) == line


HOSTILE = [
    "一" * 390,
    "第" * 390,
    "步骤" * 190,
    "不变" * 190 + "：",
    "（" * 390,
    "x把" * 190,
    "，" * 390,
]


@pytest.mark.parametrize("line", HOSTILE)
@pytest.mark.parametrize("end", ["", "\n"])
def test_hostile_chinese_gets_a_verdict_soon(lab: Lab, line: str, end: str) -> None:
    text = "## norm\n" + f"{line}{end}" * (99_000 // len(line + end))
    started = time.monotonic()

    assert missed(lab, text)
    assert time.monotonic() - started < 10
