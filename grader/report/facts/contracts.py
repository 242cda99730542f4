"""What a report says of a lab's contracts: which hold, which broke, which only hidden tests try."""

from collections.abc import Iterable, Sequence

from grader.labs.results import ContractResult, Report, State, TestResult
from grader.languages.language import labelled, said, say, word


def numbers_text(numbers: Iterable[int]) -> str:
    """Write numbers in rising order, runs of three or more by their ends: "1-4, 6, 7"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return ", ".join(shown)


def of_state(report: Report, state: State) -> list[ContractResult]:
    """Return the contracts that came out like this."""
    return [contract for contract in report.contracts if contract.state is state]


def contract_line(report: Report, test: TestResult) -> str:
    """Say which contract a test is about, in its words; "" for one that is about none."""
    says = next((c.says for c in report.contracts if c.number == test.contract), "")
    return say(f"contract {test.contract}: {say(says)}") if says else ""


def message_of(report: Report, test: TestResult) -> str:
    """Return what a test says that did not pass, in the language of the reader.

    Its first line, of the test, is the contract in other words, of which no translation is kept: it
    is left out where the contract itself is told in another language than it was written in.
    """
    message = test.message.strip()
    first, _, rest = message.partition("\n")
    says = next((c.says for c in report.contracts if c.number == test.contract), "")
    if rest and says and say(says) != says and not first.startswith(("call: ", "calls:")):
        message = rest
    return said(message or "no message")


def contract_lines(report: Report) -> list[str]:
    """Say which contracts hold and which do not, by number; nothing for a lab without any."""
    if not report.contracts:
        return []
    tried = [contract for contract in report.contracts if contract.state is not State.UNTRIED]
    holding = [contract.number for contract in tried if contract.state is State.HOLDS]
    known = [contract for contract in tried if contract.state is not State.WAITING]
    line = say(f"{len(holding)} of {len(known)} contracts tried here hold")
    lines = [labelled(line, numbers_text(holding)) if holding else line] if known else []
    for label, numbers in (
        ("not tried yet", [c.number for c in tried if c.state is State.WAITING]),
        ("tried by the hidden tests only", hidden_only(report)),
        (word("broken"), [c.number for c in tried if c.state is State.BROKEN]),
    ):
        lines += [labelled(label, numbers_text(numbers))] if numbers else []
    return lines


def hidden_only(report: Report) -> list[int]:
    """Return the contracts that no test of this report is about, if only public ones were run."""
    if report.provenance.get("suite") != "public":
        return []
    seen = {test.contract for test in report.tests}
    return [contract.number for contract in report.contracts if contract.number not in seen]


def head_and_rows(contracts: Sequence[ContractResult]) -> list[tuple[str, str, str, str]]:
    """Return a table of contracts: number, what holds, how it came out, points."""
    return [
        ("", say("what holds"), say("here"), say("points")),
        *(_row(contract) for contract in contracts),
    ]


def _row(contract: ContractResult) -> tuple[str, str, str, str]:
    shown = {
        State.HOLDS: word("holds"),
        State.BROKEN: word("broken"),
        State.WAITING: "not tried yet",
        State.UNTRIED: "not tried here",
    }[contract.state]
    points = f"{contract.score:.3g} / {contract.points:.3g}" if contract.points else "-"
    return str(contract.number), say(contract.says), say(shown), points
