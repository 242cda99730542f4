"""What was guessed, accepted and kept, read off the calls that a draft and its target noted."""

from collections.abc import Collection, Sequence

from reference.scripted.reader import Call, Rows


def alike(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens two texts begin with alike."""
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return count


def rounds_needed(rows: Rows, text: Sequence[int], start: int, end: int, k: int) -> int:
    """Return the rounds that emit text[start:end] where a draft's greedy guesses are judged by it.

    ``text`` goes on to whatever ended it; a round emits its accepted guesses and one token.
    """
    place, rounds = start, 0
    while place < end:
        accepted = 0
        while accepted < k and place + accepted < end:
            row = rows(text[: place + accepted])
            if row.index(max(row)) != text[place + accepted]:
                break
            accepted += 1
        place += accepted + 1
        rounds += 1
    return rounds


def misplaced(diary: Sequence[Call], prompt: list[int], output: list[int], k: int) -> str:
    """Say which call found in its cache, or was given, what is not text or current guess; or ''.

    What follows the text in a target's call is its guess, at most k tokens. The draft's calls
    belong to the target's next one, or to the end of the text.
    """
    text = prompt + output
    following: Sequence[int] = text
    for number in range(len(diary) - 1, -1, -1):
        call = diary[number]
        if call.model == "target":
            following = call.whole
            if alike(call.whole, text) < len(call.whole) - k:
                return f"{_name(call, number)} holds more than the text and {k} guesses behind it"
        elif alike(call.whole, following) < min(len(call.whole), len(following)):
            return f"{_name(call, number)} holds what is neither text nor current guess"
        elif len(call.whole) > len(following) + k:
            return f"{_name(call, number)} holds far more than the text and {k} guesses"
    return ""


def _name(call: Call, number: int) -> str:
    return f"in call {number + 1} the {call.model}, with {call.kept} tokens in its cache,"


def read_again(diary: Sequence[Call], model: str) -> int:
    """Return how many tokens entered a model that had read them, behind the same text, before."""
    texts: dict[tuple[int, int], int] = {}  # by the text before it and its last token: its number
    entered, different = 0, set[int]()
    for call in diary:
        if call.model == model:
            text = 0
            for place, token in enumerate(call.whole):
                text = texts.setdefault((text, token), len(texts) + 1)
                if place >= call.kept:
                    entered += 1
                    different.add(text)
    return entered - len(different)


def tallies(
    diary: Sequence[Call], prompt: list[int], output: list[int], k: int, eos_ids: Collection[int]
) -> set[tuple[int, int]]:
    """Return all pairs (drafted, accepted) that the target's calls and the output allow.

    A call without a guess may emit a token or not, and an accepted EOS may count as emitted.
    """
    states = {(0, 0, 0)}  # tokens emitted, drafted, accepted
    for call in diary:
        if call.model == "target":
            found = (_after(state, call.whole, prompt, output, k, eos_ids) for state in states)
            states = set[tuple[int, int, int]]().union(*found)
    return {(drafted, accepted) for emitted, drafted, accepted in states if emitted == len(output)}


def _after(
    state: tuple[int, int, int],
    whole: Sequence[int],
    prompt: list[int],
    output: list[int],
    k: int,
    eos_ids: Collection[int],
) -> set[tuple[int, int, int]]:
    """Return the states in which a target's call may leave the reading."""
    emitted, drafted, accepted = state
    text = prompt + output[:emitted]
    if alike(whole, text) < min(len(whole), len(text)):
        return set()
    guess = whole[len(text) :]
    if len(guess) > k:
        return set()
    if not guess:
        silent = {state}
        return silent if len(whole) < len(text) else silent | {_more(state, 1, output)}
    right = alike(guess, output[emitted:])
    after = (_more(state, right + 1, output)[0], drafted + len(guess), accepted + right)
    ends = emitted + right == len(output) and right < len(guess) and guess[right] in eos_ids
    return {after, (after[0], after[1], after[2] + 1)} if ends else {after}


def _more(state: tuple[int, int, int], count: int, output: list[int]) -> tuple[int, int, int]:
    return min(state[0] + count, len(output)), state[1], state[2]
