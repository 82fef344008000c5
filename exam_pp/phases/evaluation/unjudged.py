"""Systems of whose first passages none or hardly any is judged, mostly because of other spellings of ids."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial, reduce
from itertools import combinations

from exam_pp.metrics.gains import RunMatrix
from exam_pp.metrics.ties_in_runs import trec_eval_ranking
from exam_pp.results import Qrel
from exam_pp.store.trec.runs import Run
from exam_pp.text.wording import counted, listed

TOP = 10
# A share of the passages that could be judged, so that a single judgment for a query is enough.
_FEW = 0.05
_SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "case": str.casefold,
    "blanks": lambda name: "_".join(name.split()),
    "their Unicode form (NFC or NFD)": partial(unicodedata.normalize, "NFC"),
    "zeros at the front": lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name),
    "the file extension": lambda name: re.sub(r"\.[A-Za-z]\w{0,4}$", "", name),
    "a prefix": lambda name: re.sub(r"^.*[\W_]", "", name),
    "letters at the front": lambda name: re.sub(r"^[^\W\d]+(?=\d+$)", "", name),
}


# Differences that one side has more than the other: ids with two prefixes are different ids.
_OF_ONE_SIDE = ("a prefix", "letters at the front")


def unjudged_notes(
    labels: Iterable[Qrel], runs: Iterable[tuple[str, Run]], matrix: RunMatrix | None = None
) -> list[str]:
    """Notes, with ids of both sides, on the systems of whose first passages hardly any has a label.

    With the ``matrix`` of the runs, these are read only if a system of it has few labelled passages.
    """
    judged: dict[str, set[str]] = {}
    for label in labels:
        judged.setdefault(label.query_id, set()).add(label.passage_id)
    if matrix is not None:
        gains = matrix.gains(labels)
        hits = gains.number(gains.rank <= TOP).reshape(len(matrix.systems), -1).sum(axis=1)
        if hits.min() >= _FEW * sum(min(TOP, len(passages)) for passages in judged.values()):
            return []
    return [note for system, run in runs if (note := _note(system, run, judged)) is not None]


def _note(system: str, run: Run, judged: Mapping[str, Collection[str]]) -> str | None:
    tops = {query_id: trec_eval_ranking(run[query_id])[:TOP] for query_id in run if query_id in judged}
    if not tops:
        return f"{system} has results for no judged query; {ids_of_both(run, judged)}."
    hits = {query_id: len(set(top).intersection(judged[query_id])) for query_id, top in tops.items()}
    number, shown = sum(hits.values()), sum(map(len, tops.values()))
    if number >= _FEW * sum(min(len(top), len(judged[query_id])) for query_id, top in tops.items()):
        return None
    missed = min(hits, key=lambda query_id: hits[query_id])
    return (
        f"{f'Only {number}' if number else 'None'} of the {counted(shown, 'passage')} of {system} for "
        f"{missed if len(tops) == 1 else counted(len(tops), 'query')} (at most {TOP} each) is judged; "
        f"{ids_of_both(tops[missed], judged[missed])}."
    )


def ids_of_both(
    ours: Iterable[str], theirs: Iterable[str], one: str = "the run", other: str = "the judgments"
) -> str:
    """Ids of both sides, and the differences without which they would meet."""
    run, judged = sorted(ours), sorted(theirs)
    rule = joining_rule(run, judged)
    return (
        f"ids {f'differ in {rule}:' if rule else 'are'} {listed(run)} in {one}, {listed(judged)} in {other}"
    )


def joining_rule(run: Collection[str], judged: Collection[str]) -> str:
    """The differences without which ids of both sides would meet; empty if they would not."""
    for size in range(1, len(_SPELLINGS) + 1):
        for names in combinations(_SPELLINGS, size):
            a, b = _spelt(run, names), _spelt(judged, names)
            others = [name for name in names if name not in _OF_ONE_SIDE]
            is_one_sided = a == _spelt(run, others) or b == _spelt(judged, others)
            are_distinct = (len(a), len(b)) == (len(run), len(judged))
            if is_one_sided and are_distinct and 4 * len(a & b) >= min(len(a), len(b)):
                return " and ".join(names)
    return ""


def _spelt(names: Iterable[str], spellings: Iterable[str]) -> set[str]:
    return {reduce(lambda text, spelling: _SPELLINGS[spelling](text), spellings, name) for name in names}
