"""A trace as one HTML page: each launch drawn, and its accesses one after another in words.

Without its script the page shows all of it at once; the script marks one access at a time in the
picture and in the kernel. Nothing comes from elsewhere, and what a kernel's file says is escaped.
"""

from collections.abc import Iterator

from grader.report.markup.web import escaped, page
from grader.trace.record import ELSEWHERE, HIDDEN, Launch, Step, Trace
from grader.trace.sheet import number_of, tint
from grader.trace.svg import draw
from grader.trace.words import (
    call_of,
    fault_in_words,
    line_of,
    program_name,
    programs_in_words,
    step_in_words,
)

MOST_STEPS = 300  # of a launch
MOST_LANES = 64  # of a step that stand in the page
STYLE = """
main { max-width: 54rem }
.trace { max-width: 100%; height: auto }
.trace .now { stroke: #d1242f; stroke-width: 3 }
.kernel { list-style: none; padding: .5rem 0; margin: 0; overflow-x: auto;
  border: 1px solid var(--line) }
.kernel li { display: flex; gap: 1rem; padding: 0 .6rem }
.kernel code { white-space: pre; overflow-wrap: normal }
.kernel .number, .kernel code { font: .8rem/1.5 ui-monospace, monospace }
.launch h3 { color: inherit; margin-top: 1.5rem }
.kernel .number { opacity: .7; min-width: 2.2rem; text-align: right; flex: none }
.kernel .now { background: #f0b84955; outline: 2px solid #c98a0c }
.kernel .wrong { background: #d1242f33 }
.steps { padding-left: 2.6rem }
.steps li { padding: .3rem .4rem; border-bottom: 1px solid var(--line) }
.steps .now { background: #f0b84933; outline: 2px solid #c98a0c }
.lanes { display: block; margin-top: .25rem; font: .75rem/1.5 ui-monospace, monospace }
.lanes span { display: inline-block; min-width: 2rem; padding: 0 .25rem; margin: 0 1px 1px 0;
  text-align: center; color: #1f2933; border: 1px solid #8a949f }
.lanes .hidden { background: repeating-linear-gradient(45deg, #f1f4f6 0 4px, #b3bac2 4px 5px) }
.lanes .outside { background: #fff; border: 2px solid #d1242f }
.stepper { position: sticky; top: 0; z-index: 1; padding: .5rem; display: flex; gap: .5rem;
  align-items: center; flex-wrap: wrap; background: Canvas; border-bottom: 1px solid var(--line) }
.stepper[hidden] { display: none }
.stepper button { font: inherit; padding: .1rem .8rem }
.stepper output { flex: 1 1 20rem }
"""
SCRIPT = """
for (const launch of document.querySelectorAll("section.launch")) {
  const steps = [...launch.querySelectorAll(".steps > li")];
  const bar = launch.querySelector(".stepper"), says = bar.querySelector("output");
  const [back, on] = bar.querySelectorAll("button"), slider = bar.querySelector("input");
  let now = -1;
  const mark = (id) => document.getElementById(id)?.classList.add("now");
  const show = (number) => {
    now = Math.min(Math.max(number, 0), steps.length - 1);
    for (const old of launch.querySelectorAll(".now")) old.classList.remove("now");
    const step = steps[now], name = launch.id;
    step.classList.add("now");
    mark(name + "l" + step.dataset.line);
    mark(name + "p" + step.dataset.program);
    for (const element of step.dataset.elements.split(" ")) if (element)
      mark(name + "t" + step.dataset.tensor + "e" + element);
    slider.value = now;
    says.textContent = (now + 1) + " of " + steps.length + ": "
      + step.querySelector(".says").textContent;
  };
  back.onclick = () => show(now - 1);
  on.onclick = () => show(now + 1);
  slider.max = steps.length - 1;
  slider.oninput = () => show(Number(slider.value));
  if (steps.length) { bar.hidden = false; show(0); }
}
"""


def html_page(trace: Trace, title: str) -> str:
    """Return the page of a trace; ``title`` says what was called."""
    body = [f"<h1>{escaped(title)}</h1>"]
    if trace.fault is not None:
        body.append(f'<p class="failure">Error: {escaped(fault_in_words(trace.fault))}</p>')
    if not trace.launches:
        body.append("<p>No kernel was launched.</p>")
    for number, launch in enumerate(trace.launches):
        last = number == len(trace.launches) - 1
        body += _launch(trace, launch, f"k{number}", wrong=last)
    if trace.more:
        body.append(f"<p>… {trace.more:,} launches more were not followed</p>")
    return page(title, body, style=STYLE, script=SCRIPT)


def _launch(trace: Trace, launch: Launch, name: str, *, wrong: bool) -> Iterator[str]:
    yield f'<section class="launch" id="{name}">'
    yield f"<h2><code>{escaped(call_of(launch))}</code></h2>"
    yield f"<p>{escaped(programs_in_words(launch))}</p>"
    if launch.arguments:
        told = [f"{name} = {value}" for name, value in launch.arguments]
        yield f"<p><small>{', '.join(map(escaped, told))}</small></p>"
    yield (
        '<div class="stepper" hidden><button type="button">back</button>'
        '<button type="button">on</button>'
        '<input type="range" min="0" value="0" aria-label="access"><output></output></div>'
    )
    yield f"<figure>{draw(launch, name=name, steps=False)}</figure>"
    fault = trace.fault.line if wrong and trace.fault is not None else 0
    yield '<ol class="kernel">'
    for at, code in enumerate(launch.source, launch.first):
        look = ' class="wrong"' if at == fault else ""
        yield (
            f'<li{look} id="{name}l{at}"><span class="number">{at}</span>'
            f"<code>{escaped(code)}</code></li>"
        )
    yield "</ol><h3>Accesses, in the order in which the interpreter ran them</h3>"
    yield '<ol class="steps">'
    yield from (_step(launch, step) for step in launch.steps[:MOST_STEPS])
    if fault and trace.fault is not None:
        yield f'</ol><p class="failure">Here it ends: {escaped(fault_in_words(trace.fault))}</p>'
    else:
        yield "</ol>"
    if (rest := len(launch.steps) - MOST_STEPS + launch.more) > 0:
        yield f"<p>… {rest:,} accesses more are not shown</p>"
    yield "</section>"


def _step(launch: Launch, step: Step) -> str:
    says = f"program {program_name(step.program)}, {line_of(step)}: {step_in_words(launch, step)}"
    data = {
        "line": step.line,
        "program": number_of(launch, step.program),
        "tensor": step.tensor,
        "elements": " ".join(map(str, step.elements)),
    }
    attributes = " ".join(f'data-{key}="{value}"' for key, value in data.items())
    return f'<li {attributes}><span class="says">{escaped(says)}</span>{_lanes(launch, step)}</li>'


def _lanes(launch: Launch, step: Step) -> str:
    """Return the lanes of a small block with their values; of a large one the words are enough."""
    if step.count > MOST_LANES or step.tensor is None or len(step.values) != len(step.lanes):
        return ""
    wide = step.shape[-1] if step.shape else 1
    rows: list[str] = []
    for first in range(0, len(step.lanes), max(wide, 1)):
        pairs = zip(
            step.lanes[first : first + wide], step.values[first : first + wide], strict=True
        )
        rows.append("".join(_lane(launch, step, lane, value) for lane, value in pairs))
    return f'<span class="lanes">{"<br>".join(rows)}</span>'


def _lane(launch: Launch, step: Step, lane: int, value: str) -> str:
    if lane >= 0:
        look = f'style="background:{tint(launch, step.program)}"'
        return f"<span {look}>{escaped(value) or '&nbsp;'}</span>"
    if lane == HIDDEN:
        return '<span class="hidden" title="hidden by the mask">&nbsp;</span>'
    words = "elsewhere" if lane == ELSEWHERE else "outside"
    return f'<span class="outside">{words}</span>'
