"""Search in Chinese, which has no blanks between words: each two characters in a row are a term.

Sphinx's own search needs a dictionary for that, and its script looks a query up as it was typed.
"""

import re

from grader.extras import needs

with needs("docs"):
    from sphinx.search.en import SearchEnglish

_RUN = re.compile(r"[\u3400-\u9fff]+|[a-z0-9_]+", re.IGNORECASE)


class SearchPairs(SearchEnglish):
    """Pairs of Chinese characters beside English words."""

    lang = "zh"
    language_name = "English"  # of the stemmer in the browser, which is called by this name
    # The same in the browser, for what is typed.
    js_splitter_code = r"""
function splitQuery(query) {
  const runs = query.match(/[\u3400-\u9fff]+|[a-z0-9_]+/gi) || [];
  return runs.flatMap((run) =>
    /[a-z0-9_]/i.test(run) || run.length === 1
      ? [run]
      : Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2)),
  );
}
"""

    def split(self, input: str) -> list[str]:
        """Return the terms of a text, in order."""
        return [term for run in _RUN.findall(input) for term in pairs(run)]


def pairs(run: str) -> list[str]:
    """Return each two neighbours of a run of Chinese characters; a word, or one of them, alone."""
    if run.isascii() or len(run) == 1:
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]
