"""Roles and repeats of ranking entries: reading, choosing, importing and exporting."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.cli.passages.remove_and_rename import Changes, change_file
from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry, Role, parse_line
from exam_pp.errors import ExamError, SelectionError
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.inputs import views
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.phases.passages.filter import FilterOptions
from exam_pp.results import Qrel
from exam_pp.roles import System, choose_role, outputs_of, role_of
from exam_pp.store.passages.graded_file import read_passages, write_passages
from exam_pp.store.trec.answers import Answer, AnswerPart, read_answers, references_of, write_answers
from exam_pp.store.trec.runs import read_run
from tests.conftest import passage, rubric

Write = Callable[[str, list[Any]], Path]


SYSTEMS = ("rag", "bm25")


PASSAGES = ("d1", "d2", "rag/q1", "rag/q1#1")


def entry(method: str, passage_id: str, query_id: str = "q1", **keys: Any) -> RankingEntry:
    return RankingEntry(
        method=method, passage_id=passage_id, query_id=query_id, **({"rank": 1, "score": 1.0} | keys)
    )


@st.composite
def queries(draw: st.DrawFn, *, roles: bool = True) -> list[QueryPassages]:
    """Queries whose passages have entries with and without roles and repeats."""
    lines = []
    for query_id in ("q1", "q2"):
        passages = []
        for passage_id in draw(st.lists(st.sampled_from(PASSAGES), unique=True)):
            entries = []
            for method in draw(st.lists(st.sampled_from(SYSTEMS), max_size=3)):
                keys: dict[str, Any] = {
                    "rank": draw(st.integers(0, 3)),
                    "score": draw(st.integers(0, 3)) * 1.0,
                }
                if roles and draw(st.booleans()):
                    keys["role"] = draw(st.sampled_from(("retrieved", "answer")))
                if roles and draw(st.booleans()):
                    keys["repeat"] = draw(st.integers(1, 2))
                entries.append(entry(method, passage_id, query_id, **keys))
            data = PassageData(judgments=[], rankings=entries)
            passages.append(Passage(passage_id=passage_id, text="Text.", data=data))
        lines.append(QueryPassages(query_id, passages))
    return lines


def places(lines: Any) -> list[tuple[Any, ...]]:
    """All passages with their entries, as evaluations see them."""
    return [
        (q.query_id, p.passage_id, [(e.method, e.rank, e.score) for e in p.rankings])
        for q in lines
        for p in q.passages
    ]


@given(lines=queries())
def test_what_is_written_is_read_by_both_decoders(
    lines: list[QueryPassages], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("roles") / "passages.jsonl"
    write_passages(lines, file)
    assert list(read_passages(file)) == lines
    for query, view in zip(lines, read_passages(file), strict=True):
        for full, fast in zip(query.passages, view.passages, strict=True):
            assert [(e.role, e.repeat) for e in full.rankings] == [(e.role, e.repeat) for e in fast.rankings]


@pytest.mark.parametrize("keys", ['"role": "answers"', '"repeat": 0', '"repeat": "x"'])
def test_unknown_roles_and_repeats_are_one_sentence(tmp_path: Path, keys: str) -> None:
    file = tmp_path / "passages.jsonl"
    ranking = f'{{"method": "a", "paragraphId": "d", "queryId": "q", "rank": 1, "score": 1, {keys}}}'
    line = f'["q", [{{"paragraph_id": "d", "text": "", "paragraph_data": {{"rankings": [{ranking}]}}}}]]'
    file.write_text(line + "\n")
    with pytest.raises(ExamError, match=r"passages\.jsonl.*line 1.*rankings"):
        list(read_passages(file))


@given(lines=queries(roles=False))
def test_files_without_roles_mean_what_they_meant(lines: list[QueryPassages]) -> None:
    assert all(new is old for new, old in zip(choose_role(lines), lines, strict=True))


@given(lines=queries(), role=st.sampled_from(("retrieved", "answer")))
def test_a_role_is_what_the_filter_keeps(
    lines: list[QueryPassages], role: Role, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Commands with --role see the file that `exam-pp filter --role` writes, without its empty queries."""
    folder = tmp_path_factory.mktemp("roles")
    write_passages(lines, folder / "all.jsonl")
    seen = places(views(folder / "all.jsonl", role))
    assert places(views(lines, role)) == seen, "files and objects"
    try:
        change_file(folder / "all.jsonl", folder / "kept.jsonl", Changes(FilterOptions(role=role)))
    except SelectionError:
        assert not seen
    else:
        assert places(choose_role(read_passages(folder / "kept.jsonl"), mixed=True)) == seen


@given(lines=queries())
def test_every_entry_has_one_role(lines: list[QueryPassages]) -> None:
    def entries(role: Role) -> list[tuple[Any, ...]]:
        return [(q, p, e) for q, p, found in places(views(lines, role)) for e in found]

    both = [(q, p, e) for q, p, found in places(choose_role(lines, mixed=True)) for e in found]
    assert sorted(entries("retrieved") + entries("answer")) == sorted(both)


@given(lines=queries())
def test_outputs_have_the_entries_of_their_system(lines: list[QueryPassages]) -> None:
    for line in lines:
        for (system, repeat), output in outputs_of(line).items():
            for role, passages in (("retrieved", output.retrieved), ("answer", [p for p, _ in output.parts])):
                expected = {
                    p.passage_id
                    for p in line.passages
                    for e in p.rankings
                    if e.method == system
                    and e.repeat in (None, repeat)
                    and role_of(line.query_id, p.passage_id, e) == role
                }
                assert sorted(p.passage_id for p in passages) == sorted(expected)
            assert output.answered == bool(output.parts)


def test_repeats_are_separate_systems_with_their_own_names() -> None:
    lines = [
        QueryPassages(
            "q1",
            [
                Passage(
                    passage_id="d1",
                    text="",
                    data=PassageData(rankings=[entry("rag", "d1", repeat=1), entry("rag", "d1", repeat=2)]),
                )
            ],
        )
    ]
    assert places(choose_role(lines)) == [("q1", "d1", [("rag-run-1", 1, 1.0), ("rag-run-2", 1, 1.0)])]
    assert str(System("rag")) == "rag"
    lines[0].passages[0].rankings.append(entry("rag-run-2", "d1"))
    with pytest.raises(SelectionError, match="'rag-run-2'"):
        list(choose_role(lines))


@pytest.fixture
def mixed(write_jsonl: Write) -> Path:
    """``rag`` retrieves d1 and answers q1, and only retrieves for q2; ``bm25`` only retrieves."""

    def ranked(passage_id: str, grade: int, **roles: Role | None) -> dict[str, Any]:
        rankings = [
            {"method": method, "paragraphId": passage_id, "queryId": "q", "rank": 1, "score": 1.0}
            | ({} if role is None else {"role": role})
            for method, role in roles.items()
        ]
        grades = [rubric({"a": grade, "b": 5 - grade})]
        return passage(passage_id, paragraph_data={"judgments": [], "rankings": rankings}, exam_grades=grades)

    return write_jsonl(
        "mixed.jsonl",
        [
            ["q1", [ranked("d1", 5, rag="retrieved", bm25=None), ranked("rag/q1#1", 0, rag="answer")]],
            ["q2", [ranked("d2", 5, rag="retrieved"), ranked("d3", 5, bm25=None), ranked("d4", 5)]],
        ],
    )


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("retrieved", {"rag": [0.5, 0.5], "bm25": [0.5, 0.5]}),
        ("answer", {"rag": [0.5]}),
        (None, {"rag": [0.5, 0.0], "bm25": [0.5, 0.5]}),
    ],
)
def test_cover_of_a_role(
    mixed: Path, role: Role | None, expected: dict[str, list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    """Without a role, a system that answers scores 0 without an answer, not the cover of its ranking."""
    caplog.set_level("INFO")
    for passages in (mixed, list(read_passages(mixed)), read_passages(mixed)):
        found: dict[str, list[float]] = {}
        for score in cover(passages, role=role).scores:
            if score.metric.startswith("Cover") and score.system != "_overall_":
                found.setdefault(score.system, []).append(score.value)
        assert found == expected
    message = "1 system has a ranking and an answer (rag): the answer counts; see --role."
    assert (message in caplog.messages) == (role is None)


def test_a_ranking_without_a_role_and_an_answer(mixed: Path, tmp_path: Path) -> None:
    """Such as two files that were imported separately and merged."""
    lines = list(read_passages(mixed))
    for position in (0, 1):
        copy = [QueryPassages(line.query_id, list(line.passages)) for line in lines]
        data = PassageData(judgments=[], rankings=[entry("rag", "d9", rank=2)])
        copy[position].passages.append(Passage(passage_id="d9", text="", data=data))
        with pytest.raises(SelectionError, match=r"'rag' .*a ranking without a role.*--role"):
            list(choose_role(copy))
        assert len(list(choose_role(copy, "retrieved"))) == len(list(choose_role(copy, mixed=True))) == 2


def test_qrels_and_runs_of_a_role(mixed: Path, tmp_path: Path) -> None:
    assert {qrel.passage_id for qrel in rubric_qrels(mixed, role="answer").qrels} == {"rag/q1#1"}
    assert {qrel.passage_id for qrel in rubric_qrels(mixed, role="retrieved").qrels} == {
        "d1",
        "d2",
        "d3",
        "d4",
    }
    convert(Conversion(mixed, tmp_path / "runs", "run"))
    files = sorted((tmp_path / "runs").iterdir())
    assert [file.name for file in files] == ["bm25.run", "rag.run"]
    assert [(line.query_id, line.passage_id) for line in read_run(files[1])] == [("q1", "d1"), ("q2", "d2")]
    scores = score_rankings(
        [Qrel("q1", "d1", 1), Qrel("q2", "d2", 1)], mixed, ["P@1"], role="retrieved"
    ).scores
    assert {(s.system, s.query_id): s.value for s in scores}["rag", "q2"] == 1.0


DOCIDS = ("d1", "d2", "d3", "d9")


TEXTS = {docid: f"Text of {docid}." for docid in DOCIDS if docid != "d9"}


@st.composite
def answers(draw: st.DrawFn) -> list[Answer]:
    """Answers of systems to queries, with repeats, citations, references and empty answers."""
    found = []
    keys = st.tuples(st.sampled_from(("q1", "q2")), st.sampled_from(SYSTEMS))
    for query_id, system in draw(st.lists(keys, unique=True, min_size=1)):
        for repeat in draw(st.sampled_from(((None,), (1,), (2, 1)))):
            citations = st.lists(st.sampled_from(DOCIDS), unique=True).map(tuple)
            parts = draw(st.lists(st.builds(AnswerPart, st.sampled_from(("One.", "Two b.")), citations)))
            references = draw(st.lists(st.sampled_from(sorted(TEXTS)), unique=True))
            found.append(Answer(query_id, system, tuple(parts), references=tuple(references), repeat=repeat))
    return found


@given(expected=answers(), with_run=st.booleans())
def test_imported_answers_are_exported_unchanged(
    expected: list[Answer], with_run: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One system has a ranking and an answer; d9 has no text, and its citations are kept."""
    folder = tmp_path_factory.mktemp("both")
    write_answers(expected, folder / "answers.jsonl", "rag24")
    (folder / "texts.tsv").write_text("".join(f"{docid}\t{text}\n" for docid, text in TEXTS.items()))
    runs = []
    if with_run:
        runs = [folder / "rag.run"]
        runs[0].write_text("q1 Q0 d3 1 2.5 x\nq1 Q0 d1 2 1.5 x\n")
    sources = ImportSources(
        runs=runs, texts=[folder / "texts.tsv"], answers=[folder / "answers.jsonl"], unit="sentence"
    )
    import_passages(sources, folder / "out.jsonl")
    convert(Conversion(folder / "out.jsonl", folder / "back.jsonl", "rag24"))

    def content(answer: Answer) -> tuple[Any, ...]:
        listed = () if with_run else tuple(d for d in references_of(answer) if d in TEXTS)
        return answer.system, answer.query_id, answer.repeat, answer.parts, listed

    back = list(read_answers(folder / "back.jsonl"))
    assert {content(a) for a in back} == {content(a) for a in read_answers(folder / "answers.jsonl")}
    if with_run:
        convert(Conversion(folder / "out.jsonl", folder / "runs", "run", role="retrieved"))
        lines = list(read_run(folder / "runs" / "rag.run"))
        assert [(r.query_id, r.passage_id, r.rank, r.score) for r in lines] == [
            ("q1", "d3", 1, 2.5), ("q1", "d1", 2, 1.5),
        ]  # fmt: skip
    for query in read_passages(folder / "out.jsonl"):
        parse_line(query.dump())
