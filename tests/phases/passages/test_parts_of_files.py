"""The commands split, sample and filter; unchanged parts keep their bytes."""

from __future__ import annotations

import gzip
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.cli.main import main
from exam_pp.phases.passages.sample import allocate
from tests.conftest import passage, rubric, without_times

WriteLines = Callable[[str, list[Any]], Path]
RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
BIG = ["q1", "007", "../../x", "a/b", "é"]


def data(passage_id: str, relevance: int | None, methods: str = "") -> dict[str, Any]:
    judged = [] if relevance is None else [relevance]
    return {
        "judgments": [
            {"paragraphId": passage_id, "query": "q", "relevance": level, "titleQuery": "q"}
            for level in judged
        ],
        "rankings": [
            {"method": name, "paragraphId": passage_id, "queryId": "q", "rank": 1, "score": 1.0, "x-mine": 1}
            for name in methods
        ],
        "x-inner": [1.0],
    }


@pytest.fixture
def file(write_jsonl: WriteLines) -> Path:
    """Five queries with ids that are not valid file names, with twelve passages each."""
    lines = []
    for number, query_id in enumerate(BIG):
        passages = []
        for i in range(12):
            key = f"p{i}"
            grades = [rubric({"a": i % 6, "b": 0}), rubric({"a": 1}, llm="human:ana")]
            passages.append(
                passage(
                    key,
                    text=f"Text {i}. " * (number + 1),
                    paragraph_data=data(key, i % 3 if i < 9 else None, "xy" if i % 2 else "x"),
                    exam_grades=grades if i < 10 else None,
                    **{"x-odd": "é"},
                )
            )
        lines.append([query_id, passages])
    return write_jsonl("big.jsonl", lines)


def run(command: str, *paths: Path) -> None:
    main(["-q", *shlex.split(command), *map(str, paths)])


def read(path: Path) -> list[Any]:
    content = path.read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    return [json.loads(line) for line in content.splitlines()]


# --- split ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_parts_together_are_the_whole(file: Path, tmp_path: Path, parts: int) -> None:
    run(f"split {file} -o {tmp_path / 'parts'} -n {parts}")
    files = sorted((tmp_path / "parts").iterdir())
    assert [path.name for path in files] == [f"big-{i}-of-{parts}.jsonl" for i in range(1, parts + 1)]
    whole = file.read_bytes().splitlines()
    assert sorted(line for path in files for line in path.read_bytes().splitlines()) == sorted(whole)
    sizes = [path.stat().st_size for path in files]
    assert max(sizes) - min(sizes) <= max(map(len, whole)) + 1
    run(f"merge --passages {file} -o {tmp_path / 'united.jsonl'}", *files)
    assert (tmp_path / "united.jsonl").read_bytes() == file.read_bytes()


# --- sample --------------------------------------------------------------------------------------


def test_samples_are_seeded_and_do_not_depend_on_order(file: Path, tmp_path: Path) -> None:
    shuffled = tmp_path / "shuffled.jsonl"
    shuffled.write_bytes(b"\n".join(reversed(file.read_bytes().splitlines())) + b"\n")
    out, again, other = (tmp_path / f"{name}.jsonl" for name in ("out", "again", "other"))
    for source, target, seed in ((file, out, 1), (shuffled, again, 1), (file, other, 2)):
        run(f"sample {source} -o {target} --max-queries 3 --max-passages 4 --seed {seed}")
    assert len(read(out)) == 3
    assert [len(passages) for _, passages in read(out)] == [4, 4, 4]
    assert sorted(out.read_bytes().splitlines()) == sorted(again.read_bytes().splitlines())
    assert out.read_bytes() != other.read_bytes()
    by_id = dict(read(file))
    for query_id, passages in read(out):
        assert all(raw in by_id[query_id] for raw in passages)


def test_a_query_on_two_lines_is_sampled_as_one(write_jsonl: WriteLines, tmp_path: Path) -> None:
    lines = [["q", [passage("a"), passage("b")]], ["q", [passage("c")]]]
    source, out = write_jsonl("two.jsonl", lines), tmp_path / "out.jsonl"
    run(f"sample {source} -o {out} --max-queries 1")
    assert read(out) == lines


@given(st.dictionaries(st.none() | st.integers(-1, 3), st.integers(1, 50)), st.integers(1, 80))
def test_sample_sizes_of_strata(sizes: dict[int | None, int], count: int) -> None:
    total = min(count, sum(sizes.values()))
    shares = allocate(sizes, count)
    assert sum(shares.values()) == total
    assert all(0 <= shares[level] <= size for level, size in sizes.items())
    free = [share for level, share in shares.items() if share < sizes[level]]
    assert not free or max(shares.values()) - min(free) <= 1


# --- filter --------------------------------------------------------------------------------------


def kept(path: Path) -> dict[str, list[str]]:
    return {query_id: [raw["paragraph_id"] for raw in passages] for query_id, passages in read(path)}


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ("--only judged", [f"p{i}" for i in range(9)]),
        ("--min-judgment 2", ["p2", "p5", "p8"]),
        ("--only graded", [f"p{i}" for i in range(10)]),
        ("--only ungraded", ["p10", "p11"]),
        ("--min-grade 4", ["p4", "p5"]),
        ("--min-grade 1 --grader human:ana", [f"p{i}" for i in range(10)]),
        ("--system y", [f"p{i}" for i in range(1, 12, 2)]),
        ("--system y --only judged --min-grade 3", ["p3", "p5"]),
    ],
)
def test_passages_that_match_a_filter(file: Path, tmp_path: Path, options: str, ids: list[str]) -> None:
    out = tmp_path / "out.jsonl"
    run(f"filter {file} -o {out} {options}")
    assert kept(out) == dict.fromkeys(BIG, ids)
    if "--system" not in options and "--grader" not in options:
        lines = dict(read(file))
        assert all(raw in lines[query_id] for query_id, passages in read(out) for raw in passages)


def test_queries_and_grades_that_match_a_filter(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    run(f"filter {file} -o {out} --query a/b --query 007")
    assert out.read_bytes().splitlines() == [file.read_bytes().splitlines()[i] for i in (1, 3)]
    run(f"filter {file} -o {out} --grader human:ana --query q1")
    ((_, passages),) = read(out)
    assert len(passages) == 12
    assert {grades["llm"] for raw in passages for grades in raw["exam_grades"] or ()} == {"human:ana"}
    assert all(raw["x-odd"] == "é" for raw in passages)
    run(f"filter {file} -o {out} --system y --query q1")
    ((_, passages),) = read(out)
    assert [[r["method"] for r in raw["paragraph_data"]["rankings"]] for raw in passages] == [["y"]] * 6
    assert passages[0]["paragraph_data"]["x-inner"] == [1.0]


def test_failed_requests_are_not_grades(write_jsonl: WriteLines, tmp_path: Path) -> None:
    failed = rubric({}, llm_response_errors={"a": {"failure_reason": "time-out"}})
    grades = {"good": [rubric({"a": 0})], "bad": [failed]}
    source = write_jsonl("g.jsonl", [["q", [passage(key, exam_grades=sets) for key, sets in grades.items()]]])
    for option, left in (("--only graded", "good"), ("--only ungraded", "bad")):
        run(f"filter {source} -o {tmp_path / 'o'} {option}")
        assert kept(tmp_path / "o") == {"q": [left]}


# --- rename --------------------------------------------------------------------------------------


def test_rename_changes_only_names(file: Path, tmp_path: Path) -> None:
    out, back = tmp_path / "out.jsonl", tmp_path / "back.jsonl"
    run(
        f"filter {file} -o {out} --rename grader=google/flan-t5-large=flan --rename system=y=x "
        f"--rename prompt-class={RATING}=Mine --rename system=x=y --rename grader=human:ana=human:bea"
    )
    text = out.read_text()
    assert "google/flan-t5-large" not in text
    assert RATING not in text
    first = read(out)[0][1][1]
    assert [r["method"] for r in first["paragraph_data"]["rankings"]] == ["y", "x"]
    assert [grades["llm"] for grades in first["exam_grades"]] == ["flan", "human:bea"]
    run(
        f"filter {out} -o {back} --rename grader=flan=google/flan-t5-large --rename system=y=x "
        f"--rename prompt-class=Mine={RATING} --rename system=x=y --rename grader=human:bea=human:ana"
    )
    assert back.read_bytes() == file.read_bytes()


# --- strip ---------------------------------------------------------------------------------------

FAILED = {"response": "SECRET reply", "prompt": "SECRET prompt", "failure_reason": "time-out"}
DIRECT = {"correctAnswered": True, "answer": "SECRET word", "llm": "d", "llm_response_error": FAILED}


@pytest.fixture
def secrets(write_jsonl: WriteLines) -> Path:
    grades = [
        rubric(
            {"a": 4},
            answers=[["a", "SECRET excerpt"]],
            llm_response_errors={"b": FAILED},
            verifications=[["a", "SECRET yes"]],
            answer="SECRET reply under an unknown key",
            mine=[1],
        ),
        rubric({"a": 1}, llm="human:SECRET", answers=[]),
        rubric({"a": 1}, llm="old", answers=[], llm_response_errors=["SECRET of an old file"]),
    ]
    raw = passage(
        "p", text="SECRET text", paragraph={"html": "SECRET"}, paragraph_data=data("p", 3, "x"),
        exam_grades=grades, grades=[DIRECT],
    )  # fmt: skip
    return write_jsonl("secrets.jsonl", [["q", [raw, passage("s")]]])


@pytest.mark.parametrize(
    ("options", "dropped", "left"),
    [
        ("--remove texts", "texts (2), prompts (2), errors (1)", 7),
        ("--remove prompts", "prompts (2), errors (1)", 9),
        ("--remove replies", "replies (6), errors (1)", 5),
        ("--remove human", "sets of human grades (1)", 11),
        ("--remove grades", "sets of grades (4)", 2),
        ("--remove grades --grader human:SECRET", "sets of grades (1)", 11),
        (
            "--remove texts --remove replies --remove human",
            "texts (2), replies (6), prompts (2), sets of human grades (1), errors (1)",
            0,
        ),
        ("--remove judgments --remove rankings", "judgments (1), rankings (1)", 12),
    ],
)
def test_strip_logs_the_removed_parts(
    secrets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, dropped: str, left: int
) -> None:
    out = tmp_path / "out.jsonl"
    main(["filter", str(secrets), "-o", str(out), *shlex.split(options)])
    removed = (
        without_times(capsys.readouterr().err).splitlines()[-1].removeprefix("Removed: ").removesuffix(".")
    )
    assert sorted(removed.split(", ")) == sorted(dropped.split(", "))
    assert out.read_text().count("SECRET") == left
    ((_, [raw, _]),) = read(out)
    assert raw["paragraph_id"] == "p"
    assert list(raw["paragraph_data"]) == ["judgments", "rankings", "x-inner"]
    if "--remove grades" not in options:
        assert raw["exam_grades"][0]["mine"] == [1]
        assert raw["exam_grades"][0]["self_ratings"] == [{"question_id": "a", "self_rating": 4}]
        assert raw["exam_grades"][0]["llm_response_errors"]["b"]["failure_reason"] == "time-out"


def test_selection_removal_and_new_names_in_one_call(file: Path, tmp_path: Path) -> None:
    """All options use the names in the file; removed grades do not select."""
    out = tmp_path / "out.jsonl"
    run(
        f"filter {file} -o {out} --system y --min-grade 3 --rename system=y=x --remove grades "
        "--grader human:ana --remove texts"
    )
    assert kept(out) == {key: ["p3", "p5", "p9"] for key in BIG}
    for _, passages in read(out):
        for raw in passages:
            assert [r["method"] for r in raw["paragraph_data"]["rankings"]] == ["x"]
            assert [grades["llm"] for grades in raw["exam_grades"]] == ["google/flan-t5-large"]
            assert raw["text"] == ""


def test_queries_without_passages_stay_if_nothing_is_selected(
    write_jsonl: WriteLines, tmp_path: Path
) -> None:
    source = write_jsonl("f.jsonl", [["q", []], ["r", [passage("p", paragraph_data=data("p", 1, "x"))]]])
    run(f"filter {source} -o {tmp_path / 'o'} --rename system=x=y --remove texts")
    assert kept(tmp_path / "o") == {"q": [], "r": ["p"]}


def with_errors(path: Path, errors: str) -> Path:
    sets = (
        '{"correctAnswered":[],"wrongAnswered":[]}',
        (f'{{"correctAnswered":[],"wrongAnswered":[],"llm_response_errors":{errors}}}'),
    )
    path.write_text(f'["q",[{{"paragraph_id":"p","text":"t","exam_grades":[{",".join(sets)}]}}]]\n')
    return path


def test_unchanged_parts_keep_their_bytes(tmp_path: Path) -> None:
    """Numbers keep their spelling, and sets of grades without removed parts all bytes."""
    source = with_errors(
        tmp_path / "in.jsonl", '{"a":{"prompt":"Isit?","response":null,"n":1E+400,"m":-0},"b":{"n":1.10}}'
    )
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    run(f"filter {source} -o {once} --remove prompts")
    assert once.read_text().replace(" ", "") == source.read_text().replace('"prompt":"Isit?",', "")
    assert '{"correctAnswered":[],"wrongAnswered":[]}' in once.read_text()
    run(f"filter {once} -o {twice} --remove prompts")
    assert twice.read_bytes() == once.read_bytes()


# --- grades of answers ---------------------------------------------------------------------------

ERROR = {"response": "secret reply", "prompt": "secret prompt", "failure_reason": "no label"}
BY_JUDGE: dict[str, dict[str, Any]] = {
    "support_grades": {
        "supports": [
            {"citation": "d1", "support": "full_support", "answer": "secret, but full_support"},
            {"citation": "d2", "answer": "secret reply", "llm_response_error": ERROR},
        ],
        "llm": "judge", "prompt_info": {"prompt_class": "Judge"},
    },
    "criteria_grades": {
        "method": "x-run-2",
        "ratings": [
            {"criterion": "quality", "rating": 2}, {"criterion": "trust", "llm_response_error": ERROR},
        ],
        "llm": "judge", "prompt_info": {"prompt_class": "Judge"}, "answer": "secret reply", "mine": [1],
    },
}  # fmt: skip
"""Grades of a part of an answer by a model: of its citations, and by criteria."""
WITHOUT_REPLIES = {
    "support_grades": [
        {"citation": "d1", "support": "full_support"},
        {"citation": "d2", "llm_response_error": {"failure_reason": "no label"}},
    ],
    "criteria_grades": [
        {"criterion": "quality", "rating": 2},
        {"criterion": "trust", "llm_response_error": {"failure_reason": "no label"}},
    ],
}
BY_PERSON: dict[str, dict[str, Any]] = {
    "support_grades": {"supports": [{"citation": "d1", "support": "no_support"}], "llm": "human:ann"},
    "criteria_grades": {
        "method": "x-run-2", "ratings": [{"criterion": "quality", "rating": 1}], "llm": "human:ann",
    },
}  # fmt: skip


def graded_answer(kind: str, *sets: dict[str, Any]) -> list[Any]:
    entry = {"method": "x", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 1.0}
    data = {"judgments": [], "rankings": [entry | {"repeat": 2, "role": "answer"}]}
    return [["q", [passage("p", paragraph_data=data) | {kind: [*sets]}]]]


@pytest.mark.parametrize("kind", BY_JUDGE)
@pytest.mark.parametrize(
    ("options", "changed", "judges"),
    [
        (
            "--rename grader=judge=j --rename prompt-class=Judge=Mine",
            {"llm": "j", "prompt_info": {"prompt_class": "Mine"}},
            ["j", "human:ann"],
        ),
        ("--system x", {}, ["judge", "human:ann"]),
        ("--remove human", {}, ["judge"]),
        ("--remove grades --grader judge", {}, ["human:ann"]),
    ],
)
def test_grades_of_answers_are_kept_renamed_and_removed(
    kind: str, options: str, changed: Any, judges: list[str], write_jsonl: WriteLines, tmp_path: Path
) -> None:
    source = write_jsonl("a.jsonl", graded_answer(kind, BY_JUDGE[kind], BY_PERSON[kind]))
    run(f"filter {source} -o {tmp_path / 'o'} {options}")
    ((_, [raw]),) = read(tmp_path / "o")
    sets = [BY_JUDGE[kind] | changed, BY_PERSON[kind]]
    assert raw[kind] == [one for one in sets if one["llm"] in judges]


@pytest.mark.parametrize("kind", BY_JUDGE)
def test_replies_and_prompts_of_grades_of_answers_are_removed(
    kind: str, write_jsonl: WriteLines, tmp_path: Path
) -> None:
    source = write_jsonl("a.jsonl", graded_answer(kind, BY_JUDGE[kind], BY_PERSON[kind]))
    run(f"filter {source} -o {tmp_path / 'o'} --remove replies --remove prompts")
    ((_, [raw]),) = read(tmp_path / "o")
    left = {key: value for key, value in BY_JUDGE[kind].items() if key != "answer"}
    of_parts = "supports" if kind == "support_grades" else "ratings"
    assert raw[kind] == [left | {of_parts: WITHOUT_REPLIES[kind]}, BY_PERSON[kind]]
    run(f"filter {source} -o {tmp_path / 'o'} --remove texts")
    assert "secret prompt" not in (tmp_path / "o").read_text(), "prompts contain the texts"


@pytest.mark.parametrize("kind", BY_JUDGE)
def test_grades_of_answers_are_merged(kind: str, write_jsonl: WriteLines, tmp_path: Path) -> None:
    one, other = BY_JUDGE[kind], BY_JUDGE[kind] | {"llm": "second"}
    files = (
        write_jsonl("a.jsonl", graded_answer(kind, one)),
        write_jsonl("b.jsonl", graded_answer(kind, other)),
    )
    run(f"merge -o {tmp_path / 'o'}", *files)
    ((_, [raw]),) = read(tmp_path / "o")
    assert raw[kind] == [one, other]


def test_ratings_by_criteria_have_the_new_name_of_their_system(
    write_jsonl: WriteLines, tmp_path: Path
) -> None:
    source = write_jsonl("a.jsonl", graded_answer("criteria_grades", BY_PERSON["criteria_grades"]))
    run(f"filter {source} -o {tmp_path / 'o'} --rename system=x=z")
    ((_, [raw]),) = read(tmp_path / "o")
    assert raw["criteria_grades"][0]["method"] == "z-run-2"
