"""Static rules: what costs which task, and what must never cost any."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.labs.documents.submission import Submission
from grader.labs.lab import Lab, Limits, all_labs
from grader.labs.results import Verdict
from grader.labs.rule import Rule
from grader.labs.task import Task
from grader.prove.files import solution, variants
from grader.readers import Budget
from grader.reading import syntax
from grader.reading.reader import Facts, Reader, facts_of, read_code
from grader.reading.rules import StaticReport, rule_results, rule_tests, static_check

SDPA = "torch.nn.functional.scaled_dot_product_attention"
RULES = (
    Rule("write attention", forbid=(SDPA, "torch.nn.MultiheadAttention"), aten=("_scaled_dot_*",)),
    Rule("write the norm", forbid=("torch.nn.functional.rms_norm", "torch.Tensor.softmax")),
    Rule("only from_pretrained", package="transformers", only=("from_pretrained",)),
)
LABS = all_labs(Path(__file__).resolve().parents[2])
TASKS = (
    Task("norm", "t", 20, "h", functions=("rms_norm",)),
    Task("attention", "t", 30, "h", functions=("attention",)),
    Task("model", "t", 45, "h", functions=("Llama",)),
    Task("pseudocode", "t", 5, "h"),
)
LAB = Lab(
    *(1, "01_llama", "llama", Path("/"), Path("/labs/01_llama"), "t", "s"),
    *(("common",), (), ("torch", "transformers"), Limits(), RULES, TASKS),
)
HEAD = """
import torch
import torch.nn.functional as F
from torch import nn
from labs.common import LlamaConfig
"""
ALL = "norm attention model"


def submit(code: str | bytes, *, single_file: bool = False) -> Submission:
    data = code.encode() if isinstance(code, str) else code
    return Submission(
        {"llama.py": data}, "0", Path("/clean"), "llama.py", Path("/source"), single_file
    )


def read_here(code: bytes, _: Budget) -> Facts:
    """Read code of ours in this process; what could break the parser has one of its own."""
    return facts_of(json.loads(json.dumps(syntax.read(code))))


def check(code: str | bytes, read: Reader = read_code) -> StaticReport:
    return static_check(LAB, submit(code), read)


def under_head(code: str) -> str:
    """Put code under imports; what asks the future stays first."""
    future, mark, rest = code.partition("annotations\n")
    return future + mark + HEAD + rest if code.startswith("from __future__") else HEAD + code


def costs(code: str) -> str:
    """The tasks that the violations of a file cost, in the lab's order."""
    report = check(under_head(code), read_here)
    assert report.fault is None
    lost = {task for violation in report.violations for task in violation.tasks}
    return " ".join(task.id for task in TASKS if task.id in lost)


WAYS_TO_CALL = {
    "alias of a module": "def attention(q): return F.scaled_dot_product_attention(q)",
    "full name": f"def attention(q): return {SDPA}(q)",
    "from import": "from torch.nn import functional as G\n"
    "def attention(q): return G.scaled_dot_product_attention(q)",
    "name import": f"from {SDPA.rpartition('.')[0]} import scaled_dot_product_attention as s\n"
    "def attention(q): return s(q)",
    "star import": "from torch.nn.functional import *\n"
    "def attention(q): return scaled_dot_product_attention(q)",
    "import inside": "def attention(q):\n import torch.nn.functional as X\n"
    " return X.scaled_dot_product_attention(q)",
    "module assigned": "G = torch.nn.functional\n"
    "def attention(q): return G.scaled_dot_product_attention(q)",
    "local alias": "def attention(q):\n f = F\n return f.scaled_dot_product_attention(q)",
    "function assigned": "f = F.scaled_dot_product_attention\ndef attention(q): return f(q)",
    "pair assigned": "f, g = F.scaled_dot_product_attention, 1\ndef attention(q): return f(q)",
    "the public name is an alias": "attention = F.scaled_dot_product_attention",
    "in a table": "T = {'a': F.scaled_dot_product_attention}\ndef attention(q): return T['a'](q)",
    "lambda": "f = lambda q: F.scaled_dot_product_attention(q)\ndef attention(q): return f(q)",
    "partial": "import functools\n"
    "def attention(q): return functools.partial(F.scaled_dot_product_attention, q)()",
    "default argument": "def attention(q, f=F.scaled_dot_product_attention): return f(q)",
    "decorator": "@F.scaled_dot_product_attention\ndef attention(q): return q",
    "helper": "def help(q): return F.scaled_dot_product_attention(q)\n"
    "def attention(q): return help(q)",
    "nested function": "def attention(q):\n def f(): return F.scaled_dot_product_attention(q)\n"
    " return f()",
    "getattr": "def attention(q): return getattr(F, 'scaled_dot_product_attention')(q)",
    "getattr added up": "def attention(q): return getattr(F, 'scaled_dot_' + 'product_attention')",
    "dict of the module": "def attention(q): return F.__dict__['scaled_dot_product_attention'](q)",
    "vars": "def attention(q): return vars(F)['scaled_dot_product_attention'](q)",
    "sys.modules": "import sys\ndef attention(q):\n"
    " return sys.modules['torch.nn.functional'].scaled_dot_product_attention(q)",
    "import_module": "import importlib\ndef attention(q):\n"
    " return importlib.import_module('torch.nn.functional').scaled_dot_product_attention(q)",
    "__import__": "def attention(q):\n"
    " return __import__('torch').nn.functional.scaled_dot_product_attention(q)",
    "eval": "def attention(q): return eval('F.scaled_dot_product_attention')(q)",
    "operator": "def attention(q): return torch.ops.aten._scaled_dot_product_flash_attention(q)",
    "overload": "def attention(q): return torch.ops.aten._scaled_dot_product_x.default(q)",
    "C binding": "def attention(q): return torch._C._nn.scaled_dot_product_attention(q)",
    "aten by torch": "def attention(q): return torch._scaled_dot_product_attention_math(q)",
    "either of two": "def attention(q, a):\n"
    " f = F.scaled_dot_product_attention if a else max\n return f(q)",
    "fallback": "try:\n from torch.nn.functional import scaled_dot_product_attention as s\n"
    "except ImportError:\n s = None\ndef attention(q): return s(q)",
    "walrus": "def attention(q): return (f := F.scaled_dot_product_attention)(q)",
    "comprehension": "def attention(q): return [F.scaled_dot_product_attention(a) for a in q]",
    "module of the class": "def attention(q):\n"
    " return torch.nn.modules.activation.MultiheadAttention(1, 1)(q)",
    "class": "def attention(q): return nn.MultiheadAttention(8, 2)(q)",
    "method": "def attention(q): return (q @ q).softmax(-1)",
    "method of torch.Tensor": "def attention(q): return torch.Tensor.softmax(q, -1)",
    "another spelling": "def attention(q): return torch.rms_norm(q, [1])",
    "called in an annotation": "def attention(q: F.scaled_dot_product_attention(1)): return q",
    "called in what is returned": "def attention(q) -> F.scaled_dot_product_attention(1): return q",
    "bound in an annotation": "def attention(q: (f := F.scaled_dot_product_attention)):\n"
    " return f(q)",
    "annotation read back": "def attention(q: F.scaled_dot_product_attention):\n"
    " return attention.__annotations__['q'](q)",
    "annotation of the class read back": "class T:\n f: F.scaled_dot_product_attention\n"
    "def attention(q): return T.__annotations__['f'](q)",
    "annotation that waits": "from __future__ import annotations\nimport typing\n"
    "def attention(q: F.scaled_dot_product_attention):\n"
    " return typing.get_type_hints(attention)['q'](q)",
    "class body": "class T:\n f = F.scaled_dot_product_attention\ndef attention(q): return T.f(q)",
    "match": "def attention(q):\n match F:\n  case g: return g.scaled_dot_product_attention(q)",
    "match of a pair": "def attention(q):\n match q, F:\n"
    "  case [_, g]: return g.scaled_dot_product_attention(q)",
    "match of either": "def attention(q):\n match F:\n"
    "  case (None as g) | g: return g.scaled_dot_product_attention(q)",
    "loop over modules": "def attention(q):\n"
    " for g in (F, torch): return g.scaled_dot_product_attention(q)",
    "comprehension over modules": "def attention(q):\n"
    " return [g.scaled_dot_product_attention(q) for g in [torch, F]]",
    "module as a default": "def attention(q, g=F): return g.scaled_dot_product_attention(q)",
    "keyword default": "def attention(q, *, a=1, g=F): return g.scaled_dot_product_attention(q)",
    "set by a function": "def fill():\n global f\n f = F.scaled_dot_product_attention\n"
    "def attention(q):\n fill()\n return f(q)",
    "global of another": "def fill():\n global f\n f = F.scaled_dot_product_attention\n"
    "def attention(q): return f(q)",
    "put into the module": "class T:\n globals()['f'] = F.scaled_dot_product_attention\n"
    "def attention(q): return f(q)",
    "put into another module": "import math\nmath.f = F.scaled_dot_product_attention\n"
    "def attention(q): return math.f(q)",
    "put into a table": "T = {}\nT['f'] = F.scaled_dot_product_attention\n"
    "def attention(q): return T['f'](q)",
}


@pytest.mark.parametrize("code", WAYS_TO_CALL.values(), ids=WAYS_TO_CALL)
def test_a_forbidden_call_costs_the_task_that_contains_it(code: str) -> None:
    assert costs(code) == "attention"


def test_a_call_costs_every_task_that_reaches_it() -> None:
    code = (
        "class Block:\n def forward(self, q): return attention(q)\n"
        "class Llama:\n def __init__(self): self.blocks = [Block()]\n"
        "def attention(q): return F.scaled_dot_product_attention(q)\n"
        "def rms_norm(x): return x\n"
    )

    assert costs(code) == "attention model"


@pytest.mark.parametrize(
    "code",
    [
        "y = F.scaled_dot_product_attention(torch.ones(1))",
        "F.scaled_dot_product_attention(torch.ones(1))",
        "if torch:\n F.scaled_dot_product_attention(1)",
        "import pandas",
        "import labs.llama",
        "from labs import llama",
        "import solutions, reference.llama, grader",
        "from . import common",
        "from ..labs import common",
        "for _ in range(3): nn.MultiheadAttention(1, 1)",
        "attention.torch = F.scaled_dot_product_attention(1)",
        "from transformers import pipeline\npipeline('x')",
        "import math\ndef fill(): math.f = F.scaled_dot_product_attention\nfill()",
        "def fill(): math.f = F.scaled_dot_product_attention\ndone = fill()",
        "def deeper(): return F.scaled_dot_product_attention\ndef fill(): deeper()\nfill()",
        "from transformers import pipeline\nfor f in (pipeline, print): f('x')",
        "from transformers import pipeline\nmatch pipeline:\n case f: f('x')",
    ],
)
def test_a_violation_at_module_level_costs_all_tasks(code: str) -> None:
    assert costs(code) == ALL


def test_what_runs_at_import_and_breaks_nothing_costs_nothing() -> None:
    code = "def fill(): return 1\nfill()\ndef my_check(q): return F.rms_norm(q)"

    assert costs(code) == ""


def test_an_import_in_a_function_costs_what_reaches_the_function() -> None:
    assert costs("def rms_norm(x):\n import tqdm\n return x") == "norm"
    assert costs("import importlib\ndef rms_norm(x): importlib.import_module('tqdm')") == "norm"


def test_what_to_do_with_a_file_of_ones_own_is_said(tmp_path: Path) -> None:
    (tmp_path / "beside.py").touch()
    code = "import beside\nfrom .near import x\nfrom . import y\nimport tqdm\n"

    report = static_check(LAB, replace(submit(code), source=tmp_path / "llama.py"))

    alone = "of your own files llama.py alone is graded: move what you need of"
    nowhere = "relative imports lead nowhere"
    assert [str(violation) for violation in report.violations] == [
        f"line 1: import of beside is not allowed: {alone} beside into it",
        f"line 2: import of .near is not allowed: {nowhere}; {alone} near into it",
        f"line 3: import of . is not allowed: {nowhere}; {alone} others into it",
        "line 4: import of tqdm is not allowed: this lab may import torch, transformers,"
        f" labs.common, the standard library; {alone} others into it",
    ]


def test_tasks_whose_functions_another_calls_are_its_foundations() -> None:
    code = """
def rms_norm(x): return x
def helper(x): return rms_norm(x)
def attention(q): return helper(q)
def apply_rope(x): return x
class Llama:
    def forward(self, x): return attention(x)
"""

    assert check(HEAD + code, read_here).builds_on == {
        "attention": ["norm"],
        "Llama": ["norm", "attention"],
    }


def test_a_violation_that_no_task_reaches_costs_nothing_but_is_reported() -> None:
    report = check(HEAD + "def my_check(q): return F.scaled_dot_product_attention(q)")

    assert [violation.tasks for violation in report.violations] == [()]
    results = rule_results(LAB, submit(""), report)
    assert {result.verdict for result in results} == {Verdict.PASSED}


HONEST = {
    "docstring": f'"""We do not call {SDPA}(q)."""',
    "comment and string": f"x = 'F.{SDPA}'  # F.scaled_dot_product_attention(q)",
    "own function of the name": "def scaled_dot_product_attention(q): return q\n"
    "def attention(q): return scaled_dot_product_attention(q)",
    "own function after a stale import": "from torch.nn.functional import rms_norm\n"
    "def rms_norm(x): return x\nclass Llama:\n def f(self, x): return rms_norm(x)",
    "own function wins over a star": "from torch.nn.functional import *\n"
    "def rms_norm(x): return x\ndef attention(q): return rms_norm(q)",
    "own method": "class Llama:\n def rms_norm(self, x): return x\n"
    " def forward(self, x): return self.rms_norm(x)",
    "own method of a tensor's name": "class Llama:\n def softmax(self, x): return x\n"
    "def attention(q, model): return model.softmax(q)",
    "own object": "class Ops:\n pass\nF2 = Ops()\n"
    "def attention(q): return F2.scaled_dot_product_attention(q)",
    "parameter hides the module": "def attention(q, F): return F.scaled_dot_product_attention(q)",
    "loop variable hides the module": "def attention(q):\n"
    " for F in q: F.scaled_dot_product_attention()",
    "comprehension variable hides it": "def attention(q):\n"
    " return [F.scaled_dot_product_attention() for F in q]",
    "class attribute hides it": "class A:\n rms_norm = 1\n y = rms_norm",
    "overwritten": "def attention(q):\n f = torch.nn\n f = q\n return f.MultiheadAttention(q)",
    "the other branch": "def attention(q, a):\n if a:\n  f = torch.nn\n else:\n  f = q\n"
    "  return f.MultiheadAttention(q)",
    "annotation": "def attention(q: nn.MultiheadAttention) -> nn.MultiheadAttention: return q",
    "annotated variable": "x: nn.MultiheadAttention\nclass A:\n y: nn.MultiheadAttention = None",
    "isinstance": "def attention(q): return isinstance(q, (nn.MultiheadAttention, nn.Linear))",
    "comparison": "def attention(q): return q is F.scaled_dot_product_attention",
    "match pattern": "def attention(q):\n match q:\n  case nn.MultiheadAttention(): return 1",
    "hasattr": "def attention(q): return hasattr(F, 'scaled_dot_product_attention')",
    "unused import": "from torch.nn.functional import scaled_dot_product_attention",
    "annotations with parts": "from typing import Annotated, Optional\nclass A:\n"
    " y: Optional[nn.MultiheadAttention] = None\n"
    "def attention(q: Annotated[nn.MultiheadAttention | None, 'B T']) -> list['A']: return q",
    "annotation in a function": "def attention(q):\n f: F.rms_norm(1) = q\n return f",
    "annotations that wait": "from __future__ import annotations\n"
    "def attention(q: nn.MultiheadAttention | F.rms_norm(1)): return q",
    "unknown name": "def attention(q): return reveal_type(q)",
    "main": "def attention(q): return q\nif __name__ == '__main__':\n import matplotlib\n"
    " assert attention(1) == F.scaled_dot_product_attention(1)",
    "type checking": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n import pandas as pd\n"
    "def attention(q: 'pd.DataFrame'): return q",
    "type checking by the module": "import typing as t\nif t.TYPE_CHECKING:\n import pandas as pd",
    "main, and names of functions": "def attention(q): return getattr(q, '__name__', q.__name__)\n"
    "if __name__ == '__main__':\n import matplotlib",
    "standard library": "import os, sys, math, subprocess, ctypes, __future__\n"
    "from collections.abc import Iterable\nimport importlib.util",
    "given code": "import labs.common\nfrom labs import common\nimport labs\n"
    "from labs.common import load_weights as w",
    "longer names": "def attention(q): return nn.MultiheadAttentionX(q)",
    "no private spelling": "def attention(q): return torch.scaled_dot_x(q)",
    "softmax function": "def attention(q): return torch.softmax(q, -1)",
    "eval mode": "def attention(q):\n q.eval()\n return q",
    "from_pretrained": "import transformers\nfrom transformers import AutoTokenizer as T\n"
    "class Llama:\n"
    " def __init__(self, p):\n"
    "  self.tokenizer = T.from_pretrained(p)\n"
    "  model = transformers.AutoModelForCausalLM.from_pretrained(p).to('cpu').eval()\n"
    "  self.weights = {k: v.clone() for k, v in model.state_dict().items()}\n"
    "  self.config: transformers.LlamaConfig = transformers.AutoConfig.from_pretrained(p)\n"
    "  self.size = model.config.hidden_size\n"
    " def forward(self, text):\n"
    "  assert isinstance(self.config, transformers.LlamaConfig)\n"
    "  return self.tokenizer(text), self.tokenizer.encode(text), self.tokenizer.decode([1])",
    "one name, two models": "from transformers import AutoModelForCausalLM\n"
    "class Llama:\n def forward(self, p, t):\n"
    "  model = AutoModelForCausalLM.from_pretrained(p)\n  weights = model.state_dict()\n"
    "  model = Llama(weights)\n  return model(t)",
    "alias of a class": "from transformers import AutoConfig\ncls = AutoConfig\n"
    "def attention(p): return cls.from_pretrained(p)",
    "quiet": "import transformers\ntransformers.logging.set_verbosity_error()",
    "transformers in annotations": "from transformers import PreTrainedModel\n"
    "def attention(model: PreTrainedModel): return model(1)",
    "caught exception": "import transformers\ntry:\n pass\nexcept transformers.Error: pass",
}


@pytest.mark.parametrize("code", HONEST.values(), ids=HONEST)
def test_honest_code_breaks_no_rule(code: str) -> None:
    report = check(under_head(code), read_here)

    assert report.fault is None
    assert [str(violation) for violation in report.violations] == []


@pytest.mark.parametrize(
    ("lab", "file"),
    [
        pytest.param(lab, file, id=f"{lab.name}-{file.parent.name}-{file.stem}")
        for lab in LABS
        for file in (lab.stub, solution(lab), *variants(lab))
    ],
)
def test_no_right_answer_of_the_curriculum_breaks_a_rule(lab: Lab, file: Path) -> None:
    report = static_check(lab, submit(file.read_bytes()), read_here)

    assert report.fault is None
    assert report.violations == ()


@pytest.mark.parametrize("name", ["copies_numpy", "copies_torch"])
def test_what_must_fall_on_a_gpu_is_not_refused_unread(name: str) -> None:
    file = Path(__file__).resolve().parents[1] / "hidden_on_gpu" / f"{name}.py"
    (lab,) = (lab for lab in LABS if lab.name == "06_layernorm")

    assert static_check(lab, submit(file.read_bytes()), read_here).violations == ()


OF_TRANSFORMERS = {
    "constructor": "def attention(c): return transformers.LlamaModel(c)",
    "from_config": "def attention(c): return transformers.AutoModel.from_config(c)",
    "base class": "class attention(transformers.LlamaModel): pass",
    "call of the model": "def attention(p, t):\n"
    " m = transformers.AutoModelForCausalLM.from_pretrained(p).eval()\n return m(t)",
    "generate": "def attention(p, t):\n"
    " return transformers.LlamaForCausalLM.from_pretrained(p).generate(t)",
    "part of the model": "def attention(p, t):\n"
    " m = transformers.AutoModel.from_pretrained(p)\n return m.model(t)",
    "on self": "class attention:\n"
    " def __init__(self, p): self.hf = transformers.AutoModel.from_pretrained(p)\n"
    " def run(self, t): return self.hf.forward(t)",
    "deep import": "from transformers.models.llama.modeling_llama import LlamaAttention as A\n"
    "def attention(c): return A(c, 0)",
}


@pytest.mark.parametrize("code", OF_TRANSFORMERS.values(), ids=OF_TRANSFORMERS)
def test_of_a_package_only_the_listed_members_may_be_called(code: str) -> None:
    assert costs("import transformers\n" + code) == "attention"


@pytest.mark.parametrize(
    "code",
    [
        "from typing import TYPE_CHECKING\nTYPE_CHECKING = True\nif TYPE_CHECKING:\n import pandas",
        "__name__ = '__main__'\nif __name__ == '__main__':\n import pandas",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n import pandas",
        "from math import pi as TYPE_CHECKING\nif TYPE_CHECKING:\n import pandas",
        "import math as typing\nif typing.TYPE_CHECKING:\n import pandas",
        "import torch.TYPE_CHECKING\nif torch.TYPE_CHECKING:\n import pandas",
        "import typing\ntyping.TYPE_CHECKING = 1\nif typing.TYPE_CHECKING:\n import pandas",
        "import typing as t\nsetattr(t, 'TYPE_CHECKING', 1)\nif t.TYPE_CHECKING:\n import pandas",
        "import typing as t\nvars(t).update(TYPE_CHECKING=1)\nif t.TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\nexec('TYPE_' + 'CHECKING = 1')\n"
        "if TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\nglobals()[chr(84) + 'YPE_CHECKING'] = 1\n"
        "if TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\ndef TYPE_CHECKING(): pass\n"
        "if TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\nclass TYPE_CHECKING: pass\n"
        "if TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\nmatch 1:\n case TYPE_CHECKING: pass\n"
        "if TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\nmatch {1: 2}:\n case {**TYPE_CHECKING}: pass\n"
        "if TYPE_CHECKING:\n import pandas",
        "from typing import TYPE_CHECKING\nfor TYPE_CHECKING in [1]:\n"
        " if TYPE_CHECKING:\n  import pandas",
        "from typing import TYPE_CHECKING\nif (TYPE_CHECKING := 1):\n pass\n"
        "if TYPE_CHECKING:\n import pandas",
        "globals()['__name__'] = '__main__'\nif __name__ == '__main__':\n import pandas",
        "globals().update(__name__='__main__')\nif __name__ == '__main__':\n import pandas",
        "exec('__name__ = \"__main__\"')\nif __name__ == '__main__':\n import pandas",
        "import math as __name__\nif __name__ == '__main__':\n import pandas",
    ],
)
def test_a_block_that_never_runs_must_really_never_run(code: str) -> None:
    assert costs(code) == ALL


def test_a_parameter_may_hide_that_a_block_runs() -> None:
    code = "from typing import TYPE_CHECKING\ndef attention(q, TYPE_CHECKING=1):\n"
    code += " if TYPE_CHECKING:\n  import pandas\n return q"

    assert costs(code) == "attention"


def test_the_message_names_line_call_and_reason() -> None:
    code = HEAD + "def attention(q):\n    return F.scaled_dot_product_attention(q)\n"

    results = {test.task: test for test in rule_results(LAB, submit(code), check(code))}

    failed = results["attention"]
    assert (failed.id, failed.suite, failed.verdict) == ("rules[attention]", "rules", "failed")
    assert failed.message == f"line 7: {SDPA} is not allowed: write attention"
    assert results["norm"].verdict is Verdict.PASSED


def test_many_violations_make_a_short_message() -> None:
    code = HEAD + "def attention(q):\n" + "    F.scaled_dot_product_attention(q)\n" * 9

    result = rule_results(LAB, submit(code), check(code))[1]

    lines = result.message.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("line 7: ")
    assert lines[-1] == "and 4 more"


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"# coding: latin-1\n", b"# coding: cp1252\n"])
def test_an_encoding_in_which_code_is_the_same_is_read(start: bytes) -> None:
    text = "x = 'naïve'\n".encode("utf-8" if start.startswith(b"\xef") else "cp1252")

    assert check(start + text).fault is None


def test_the_manifest_holds_a_gate_without_weight_for_each_task() -> None:
    results = rule_results(LAB, submit(""), check(""))

    assert [(test.id, test.task, test.weight, test.gate) for test in rule_tests(LAB)] == [
        (f"rules[{task.id}]", task.id, 0.0, True) for task in TASKS
    ]
    assert [result.id for result in results] == [test.id for test in rule_tests(LAB)]


def test_pseudocode_of_a_single_file_stays_ungraded() -> None:
    for code in ("x = 1", "def ("):
        results = rule_results(LAB, submit(code, single_file=True), check(code))

        assert results[-1].verdict is Verdict.NOT_GRADED


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (b"x = 1\ndef (:\n", "line 2: SyntaxError: "),
        (b"def f():\n\treturn 1\n        return 2\n", "line 3: TabError: "),
        (b"if 1:\nx = 1\n", "line 2: IndentationError: "),
        (b"x = 1\nreturn x\n", "line 2: SyntaxError: 'return' outside function"),
        (b"# coding: klingon\n", "SyntaxError: "),
        (
            b"# coding: utf_7\nx +AD0- 1\n",
            "line 1: in the encoding utf_7 that it names the code is",
        ),
        (
            b"# coding: sjis\nx = '\x83\x5c'\n",
            "line 1: in the encoding sjis that it names the code",
        ),
        (b"x = 1\nx = '\xff\xfe'\n", "line 2: byte 0xff is no UTF-8, in `x = '"),
        (b"x = 1\0\n", "line 1: there is a null byte, which no text has, in `x = 1\\x00`: "),
        ("# Ä\nx = 1\n".encode("utf-16"), "the file is in UTF-16, not in UTF-8: save it as UTF-8 "),
        ("x = 1\n".encode("utf-16-be"), "the file is in UTF-16, not in UTF-8: save it as UTF-8 "),
        ("x = 1\n".encode("utf-32"), "the file is in UTF-32, not in UTF-8: save it as UTF-8 "),
        (b"a = b = = c\n", "line 1: SyntaxError: invalid syntax, in `a = b = = c`"),
        (
            b"x = 1\n<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> more\n",
            "line 2: `<<<<<<< HEAD` is the mark of a merge conflict: keep one version",
        ),
        (b"x = 1\n>>>>>>> more\n", "line 2: `>>>>>>> more` is the mark of a merge conflict"),
        (
            b'{\n "cells": [],\n "nbformat": 4\n}\n',
            "line 1: this is the JSON of a notebook, not Python: a notebook's name ends in .ipynb",
        ),
        (
            b'<<<<<<< HEAD\n{"cells": [],\n=======\n{"cells": [1],\n>>>>>>> b\n"nbformat": 4}',
            "line 1: this is the JSON of a notebook, not Python: a notebook's name ends in .ipynb;"
            " and `<<<<<<< HEAD` is the mark of a merge conflict: ",
        ),
        (b"(" * 100_000 + b")" * 100_000, ""),
        (b"-" * 900_000 + b"1", ""),
        (b"x = " + b"[" * 250 + b"]" * 250, ""),
        (b"not " * 200_000 + b"1", ""),
        (b"a" + b".a" * 400_000, ""),
        (b"x = " + b"1+" * 400_000 + b"1", ""),
        (b"lambda:" * 100_000 + b"1", ""),
        (b"if 1:\n" + b"".join(b" " * n + b"if 1:\n" for n in range(1, 99)), ""),
    ],
    ids=range(25),
)
def test_code_that_cannot_be_read_costs_every_task_of_code(code: bytes, message: str) -> None:
    report = check(code)

    results = rule_results(LAB, submit(code), report)

    *coded, words = results
    assert report.fault is not None
    assert {result.verdict for result in coded} == {Verdict.ERROR}
    assert all(result.message.startswith(message) for result in coded)
    assert "\n" not in coded[0].message
    assert (words.task, words.verdict) == ("pseudocode", Verdict.PASSED)


@pytest.mark.parametrize(
    "code",
    [
        b"x = [" + b"a," * 500_000 + b"]",
        b"".join(b"f%d = torch.a%d\n" % (n, n) for n in range(10_000)),
        b"def f():\n" + b" x = x.y\n" * 10_000,
    ],
    ids=["wide", "many names", "one name"],
)
def test_large_code_ends_in_facts_or_in_the_students_verdict(code: bytes) -> None:
    facts = read_code(code, Budget())

    assert facts.fault is None or str(facts.fault).startswith(("the code is", "the code needs"))


def test_an_alias_of_itself_ends() -> None:
    assert costs("f = f\ng = h\nh = g\ndef attention(q): return f.g(h(q))") == ""
    assert costs("class A:\n def f(self):\n  self.x = self.y\n  self.y = self.x\n self.x()") == ""


def test_signatures_and_measures_are_reported() -> None:
    report = check(
        '"""Doc."""\nimport abc\n'
        "def norm(x: int, *, eps=1e-5): return x\n"
        "def _private(a): pass\n"
        "class Base:\n def update(self, k, v=None): pass\n"
        "class Cache(Base):\n"
        " def __init__(self, n): self.n = n\n"
        " def _grow(self): pass\n"
        " @property\n def length(self) -> int: return 1\n"
        "if 1:\n def late(*a, b, **c): pass\n"
    )

    assert report.signatures == {
        "norm": "x, *, eps=1e-05",
        "Base": "class",
        "Base.update": "self, k, v=None",
        "Cache": "class",
        "Cache.update": "self, k, v=None",
        "Cache.__init__": "self, n",
        "Cache.length": "@property self",
        "late": "*a, b, **c",
    }
    assert report.logical_lines == 18
    assert report.annotated == pytest.approx(1 / 9)


NAMES = st.sampled_from(["F", "f", "torch", "q", "s", "nn"])
LINES = st.sampled_from(
    [
        "import torch",
        "import torch.nn.functional as {a}",
        "from torch.nn.functional import scaled_dot_product_attention as {a}",
        "{a} = {b}",
        "{a} = {b}.scaled_dot_product_attention",
        "{a}({b})",
        "def {a}({b}): return {b}",
        "class {a}:\n  {b} = {a}",
        "for {a} in {b}: pass",
        "if {a}: {b} = {a}",
        "try: {a}\nexcept {b}: pass",
        "with {a} as {b}: pass",
        "{a} = [{b} for {b} in {a}]",
        "def f():\n  global {a}\n  {a} = {b}",
        "{a}.{b} = {a}",
        "del {a}",
        "(lambda {a}: {b})()",
        "{a}: {b} = {a}",
        "{a} += {b}",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(LINES, NAMES, NAMES), max_size=12))
def test_without_the_word_nothing_is_found_and_nothing_breaks(
    parts: list[tuple[str, str, str]],
) -> None:
    source = "\n".join(line.format(a=a, b=b) for line, a, b in parts)

    facts = syntax.read(source.encode())

    if facts["fault"] is None and "scaled_dot" not in source:
        assert not [name for _, name, _, _ in facts["references"] if "scaled_dot" in name]
