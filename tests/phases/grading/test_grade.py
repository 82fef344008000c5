"""Grading with the fake model: requests, reused grades, counts, journals and interrupted runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.data_model import QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.phases.grading import grading_run as grade_file_module
from exam_pp.phases.grading.grade import GradeOptions, GradeSummary, grade
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts import PROMPTS
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal, journal_path

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTION = "QuestionCompleteConciseUnanswerablePromptWithChoices"
WriteLines = Callable[[str, list[Any]], Path]


def run(
    passages: Path, bank: Path, llm: FakeLLM, *classes: str, **options: Any
) -> tuple[list[QueryPassages], GradeSummary]:
    summary = GradeSummary()
    graded = grade(
        read_passages(passages),
        read_bank(bank),
        Answerer(llm, Journal(None)),
        model=llm.name,
        provenance=llm.provenance(),
        options=GradeOptions(prompts=[PROMPTS.get(name) for name in classes or (RATING,)], **options),
        summary=summary,
    )
    return list(graded), summary


def cli_grade(passages: Path, bank: Path, output: Path, *more: str) -> None:
    main(
        ["-q", "grade", str(passages), "-o", str(output), "--bank", str(bank), "--model", "fake",
         *(more or ("--prompt", RATING))]
    )  # fmt: skip


def test_new_grades_are_added_and_old_grades_are_kept(tiny_passages: Path, tiny_bank: Path) -> None:
    queries, summary = run(tiny_passages, tiny_bank, FakeLLM(lambda request: "4"), RATING, EXTRACTION)
    (old, new, extracted) = queries[0].passages[0].rubric_grades or []
    assert old.model == "google/flan-t5-large"
    assert new.entry_ratings() == {"q1/a": 4, "q1/b": 4}
    assert new.prompt_info is not None
    assert new.prompt_info["prompt_class"] == RATING
    assert (new.exam_ratio, new.relevance_label) == (1.0, 4)
    assert extracted.self_ratings is None
    assert extracted.answers == [("q1/a", "4"), ("q1/b", "4")]
    assert (summary.pairs, summary.graded, summary.ungraded, summary.reused) == (10, 10, 0, 0)


def test_pairs_with_a_grade_are_not_graded_again(
    tiny_passages: Path, tiny_bank: Path, write_jsonl: WriteLines, tmp_path: Path
) -> None:
    first = tmp_path / "first.jsonl"
    cli_grade(tiny_passages, tiny_bank, first)
    bank = [json.loads(line) for line in tiny_bank.read_text().splitlines()]
    bank[0]["items"].append({"query_id": "q1", "question_id": "q1/new", "question_text": "Is it new?"})
    grown = write_jsonl("grown.jsonl", bank)
    llm = FakeLLM()
    queries, summary = run(first, grown, llm)
    assert llm.calls == 2  # the new question, once for each passage of q1
    assert (summary.pairs, summary.reused) == (2, 5)
    assert list((queries[0].passages[0].rubric_grades or [])[-1].entry_ratings()) == ["q1/new"]
    assert len(queries[1].passages[0].rubric_grades or []) == 2  # no empty set of grades is added
    _, again = run(first, grown, FakeLLM(), regrade=True)
    assert again.pairs == 7


def test_grades_of_another_version_of_the_prompt_are_not_reused(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    first = tmp_path / "first.jsonl"
    cli_grade(tiny_passages, tiny_bank, first)
    prompt = PROMPTS.get(RATING)
    reworded = replace(prompt, template=prompt.template.replace("Question", "The question"))
    assert reworded.hash != prompt.hash
    for version, reused in ((prompt, 5), (reworded, 0)):
        summary, llm = GradeSummary(), FakeLLM()
        queries = grade(
            read_passages(first), read_bank(tiny_bank), Answerer(llm, Journal(None)), model="fake",
            provenance={}, options=GradeOptions(prompts=[version]), summary=summary,
        )  # fmt: skip
        assert list(queries)
        assert (summary.reused, summary.pairs) == (reused, 5 - reused)


def test_grades_of_another_revision_are_reused_and_reported(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Revision(FakeLLM):
        def __init__(self, **made: Any) -> None:
            super().__init__()
            self.made = made

        def provenance(self) -> dict[str, Any]:
            return self.made

    def graded(source: Path, output: str, regrade: bool = False, **made: Any) -> tuple[int, list[str]]:
        monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: Revision(**made))
        files = GradeFiles(source, tmp_path / output, tiny_bank)
        summary = grade_file(
            files, ModelOptions("fake"), GradeOptions([PROMPTS.get(RATING)], regrade=regrade)
        )
        return summary.reused, [line for line in summary.lines() if "--regrade" in line]

    assert graded(tiny_passages, "a.jsonl", revision="a", num_beams=5, torch="2.7") == (0, [])
    same = tmp_path / "a.jsonl"
    assert graded(same, "b.jsonl", revision="a", num_beams=5, torch="2.8") == (5, [])
    assert graded(same, "c.jsonl", revision="b", num_beams=1, torch="2.7") == (
        5,
        [
            "5 pairs were graded before with another revision and another num_beams; --regrade grades them "
            "again.",
        ],
    )
    assert graded(same, "d.jsonl", regrade=True, revision="b", num_beams=5) == (0, [])
    assert graded(tmp_path / "d.jsonl", "e.jsonl", revision="b", num_beams=5) == (5, [])


def test_failures_stay_ungraded_with_their_reason(tiny_passages: Path, tiny_bank: Path) -> None:
    def script(request: Request) -> Completion | str:
        return Completion(error="the server is asleep") if "wrote" in request.text else "no idea at all"

    queries, summary = run(tiny_passages, tiny_bank, FakeLLM(script))
    grades = (queries[0].passages[0].rubric_grades or [])[-1]
    assert grades.entry_ratings() == {"q1/a": 1}
    assert [r.source for r in grades.self_ratings or []] == ["default-1"]
    error = grades.error_of("q1/b")
    assert error is not None
    assert error["failure_reason"] == "the server is asleep"
    assert "Who wrote the text?" in error["prompt"]
    assert (summary.graded, summary.ungraded, summary.not_numbers) == (3, 2, 3)


def test_ungraded_pairs_are_graded_by_the_next_run(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path
) -> None:
    first = tmp_path / "first.jsonl"
    queries, _ = run(tiny_passages, tiny_bank, FakeLLM(lambda request: Completion(error="broken")))
    from exam_pp.store.passages.graded_file import passages_writer

    with passages_writer(first) as writer:
        for query in queries:
            writer.write(query)
    _, summary = run(first, tiny_bank, FakeLLM())
    assert (summary.pairs, summary.graded) == (5, 5)


def test_replies_without_a_number_are_rated_by_the_rule(tiny_passages: Path, tiny_bank: Path) -> None:
    script = FakeLLM(lambda request: "unanswerable")
    assert run(tiny_passages, tiny_bank, script)[1].sources == {"default-0": 5}
    assert run(tiny_passages, tiny_bank, script, unparsed="published")[1].sources == {"default-1": 5}
    assert run(tiny_passages, tiny_bank, script, unparsed="ungraded")[1].ungraded == 5


def test_a_passage_without_text_stays_ungraded(write_jsonl: WriteLines, tiny_bank: Path) -> None:
    llm = FakeLLM()
    _, summary = run(
        write_jsonl("empty.jsonl", [["q1", [{"paragraph_id": "p", "text": " \n"}]]]), tiny_bank, llm
    )
    assert llm.calls == 0
    assert summary.reasons == {"the passage has no text": 2}


@pytest.mark.parametrize(
    ("option", "expensive", "stored"),
    [(None, False, True), (None, True, False), (True, True, True), (False, False, False)],
)
def test_soft_grades_are_stored_if_they_are_selected_or_not_expensive(
    tiny_passages: Path,
    tiny_bank: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: bool | None,
    expensive: bool,
    stored: bool,
) -> None:
    class Engine(FakeLLM):
        labels_are_expensive = expensive

    def answer(request: Request) -> Completion:
        return Completion("4", label_logprobs=(-1.0,) * len(request.labels))

    monkeypatch.setattr(grade_file_module, "load_llm", lambda options: Engine(answer))
    output = tmp_path / "soft.jsonl"
    options = GradeOptions([PROMPTS.get(RATING)], soft=option)
    summary = grade_file(GradeFiles(tiny_passages, output, tiny_bank), ModelOptions("fake"), options)
    assert ('"expected"' in output.read_text("utf-8")) is stored
    assert any("--soft" in line for line in summary.lines()) is (option is None and expensive)


def test_a_model_that_thinks_gives_no_soft_grades(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> Completion:
        asked.append(request)
        return Completion("<think>2? No: three.</think>\n3")

    monkeypatch.setattr(grade_file_module, "load_llm", lambda options: FakeLLM(answer))
    model = ModelOptions("some", pipeline="openai", thinking_tokens=100)
    files = GradeFiles(tiny_passages, tmp_path / "out.jsonl", tiny_bank)
    summary = grade_file(files, model, GradeOptions([PROMPTS.get(RATING)]))
    assert not any(request.labels for request in asked)
    assert not any("soft" in line for line in summary.lines())
    passages = [passage for line in read_passages(files.output) for passage in line.passages]
    new = [grades for passage in passages for grades in passage.grade_sets() if grades.model == "fake"]
    assert {rating for grades in new for rating in grades.entry_ratings().values()} == {3}
    with pytest.raises(SelectionError, match=r"--soft .*-M thinking_tokens"):
        grade_file(files, model, GradeOptions([PROMPTS.get(RATING)], soft=True))


def test_queries_without_bank_entries_pass_through(
    tiny_passages: Path, write_jsonl: WriteLines, tmp_path: Path
) -> None:
    items = [{"query_id": "q1", "question_id": "q1/a", "question_text": "What?"}]
    bank = write_jsonl("one.jsonl", [{"query_id": "q1", "items": items}])
    queries, summary = run(tiny_passages, bank, FakeLLM())
    assert [query.query_id for query in queries] == ["q1", "007"]
    assert summary.without_bank == ["007"]


class Dies(FakeLLM):
    """A fake that is interrupted after some batches."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def generate(self, requests: Sequence[Request], batches: Any = None) -> Any:
        for index, completion in super().generate(requests, batches):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield index, completion


@pytest.mark.parametrize("after", [0, 1, 16, 17, 40])
def test_an_interrupted_run_continues_with_the_same_output(
    write_jsonl: WriteLines, tiny_bank: Path, tmp_path: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [{"paragraph_id": f"p{i}", "text": f"This text number {i % 30} was written."} for i in range(40)]
    passages = write_jsonl("many.jsonl", [["q1", texts], ["007", texts[:5]]])
    whole, output = tmp_path / "whole.jsonl.gz", tmp_path / "cut.jsonl.gz"
    cli_grade(passages, tiny_bank, whole)

    files = GradeFiles(passages, output, tiny_bank)
    options = GradeOptions(prompts=[PROMPTS.get(RATING)])
    llm = Dies(after)
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: llm)
    with pytest.raises(KeyboardInterrupt):
        grade_file(files, ModelOptions("fake"), options)
    assert not output.exists()
    assert journal_path(output).exists()
    second = FakeLLM()
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: second)
    grade_file(files, ModelOptions("fake"), options)
    assert output.read_bytes() == whole.read_bytes()
    assert second.calls == 65 - after // 16 * 16  # 60 + 5 distinct prompts, less the finished batches
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "bank.jsonl",
        "cut.jsonl.gz",
        "many.jsonl",
        "whole.jsonl.gz",
    ]


def test_a_named_journal_is_kept(tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> None:
    output, journal = tmp_path / "out.jsonl", tmp_path / "replies"
    for _ in range(2):
        cli_grade(tiny_passages, tiny_bank, output, "--prompt", RATING, "--journal", str(journal))
        with Journal(journal) as kept:
            assert len(kept) == 5


def test_replies_with_other_options_are_not_used() -> None:
    journal, asked = Journal(None), [Request((Part("why?"),))]

    class Options(FakeLLM):
        def __init__(self, reply: str, **options: Any) -> None:
            super().__init__(lambda request: reply)
            self.options = options

        def provenance(self) -> dict[str, Any]:
            return self.options

    for reply, options in (("a", {"dtype": "float32"}), ("b", {"dtype": "bfloat16"}), ("c", {})):
        assert [r.text for r in Answerer(Options(reply, **options), journal)(asked)] == [reply]
    assert [r.text for r in Answerer(Options("d", dtype="float32"), journal)(asked)] == ["a"]


@pytest.mark.parametrize(
    "other",
    [
        Request((Part("ab"), Part("c"))),
        Request((Part("a", role="system"), Part("bc"))),
        Request((Part("a"), Part("bc", may_be_cut=True))),
        Request((Part("a"), Part("bc")), labels=("0", "1")),
        Request((Part("a"), Part("bc")), max_new_tokens=5),
        Request((Part("a"), Part("bc")), one_line=True),
    ],
)
def test_the_key_of_a_request_depends_on_all_options_that_change_replies(other: Request) -> None:
    request = Request((Part("a"), Part("bc")))
    assert request.key() == Request((Part("a", slot="x"), Part("bc")), pairs=3).key()
    assert request.key() != other.key()


def test_a_journal_of_another_model_is_not_continued_and_not_deleted(
    tiny_passages: Path, tiny_bank: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "out.jsonl"
    with Journal(journal_path(output)) as journal:
        journal.add({f"of-another-model/{number}": Completion("5") for number in range(3)})
    caplog.set_level("INFO")
    options = GradeOptions(prompts=[PROMPTS.get(RATING)])
    grade_file(GradeFiles(tiny_passages, output, tiny_bank), ModelOptions("fake"), options)
    assert "Ignoring 3 replies" in caplog.text
    assert "Continuing" not in caplog.text
    assert "is kept" in caplog.text
    with Journal(journal_path(output)) as journal:
        assert len(journal) == 3
