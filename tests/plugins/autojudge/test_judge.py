"""The three protocols, checked by autojudge-base and against the commands of exam_pp."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError
from exam_pp.phases.grading import grading_run
from exam_pp.plugins.autojudge import ExamJudge
from tests.llm.endpoint_server import completion, serve

TOPICS = 3
LEXICAL = {"model": "lexical"}


@pytest.fixture
def few(topics: list[Any], reports: list[Any]) -> tuple[list[Any], list[Any]]:
    """Some topics, and the reports of five runs for all topics."""
    runs = {"gen-long", "gen-short", "rerank", "tf", "random"}
    return topics[:TOPICS], [report for report in reports if report.metadata.run_id in runs]


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {**LEXICAL, "outdir": tmp_path / "out"}


@pytest.fixture
def banks(demo: Path) -> Any:
    """The questions and nuggets of the demo, as AutoJudge reads them."""
    from autojudge_base.nugget_data import load_nugget_banks_from_file

    return load_nugget_banks_from_file(demo / "bank.jsonl")


def table(leaderboard: Any) -> dict[str, dict[tuple[str, str], float]]:
    """Measure to run and topic to value."""
    values: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for entry in leaderboard.entries:
        for measure, value in entry.values.items():
            values[measure][entry.run_id, entry.topic_id] = value
    return values


def test_banks_verify(few: Any, settings: dict[str, Any], banks: Any, demo_data: Path) -> None:
    from autojudge_base.nugget_data import NuggetBanks, NuggetBanksVerification

    topics, reports = few
    judge = ExamJudge()
    assert judge.nugget_banks_type is NuggetBanks
    ids = [topic.request_id for topic in topics]
    given = judge.create_nuggets(reports, topics, None, banks, **settings)
    of_setting = judge.create_nuggets(None, topics, None, bank=demo_data / "questions.jsonl", **settings)
    for created in (given, of_setting):
        NuggetBanksVerification(created, ids).all()
    assert {len(bank.claim_bank or ()) for bank in of_setting.banks.values()} == {0}
    bank = exam_pp.read_bank(demo_data / "questions.jsonl")
    for topic in ids:
        texts = {entry.text for entry in bank.queries[topic].entries.values()}
        assert set(of_setting.banks[topic].nugget_bank) == set(given.banks[topic].nugget_bank) == texts


def test_qrels_verify_and_equal_those_of_the_commands(
    few: Any, settings: dict[str, Any], banks: Any, demo: Path, demo_data: Path, tmp_path: Path
) -> None:
    from autojudge_base.qrels import QrelsVerification

    topics, reports = few
    qrels = ExamJudge().create_qrels(reports, topics, None, banks, **settings)
    QrelsVerification(qrels, [topic.request_id for topic in topics]).all()

    graded = graded_by_commands(demo, demo_data, tmp_path, topics, reports)
    labels = exam_pp.rubric_qrels(graded, exam_pp.read_bank(demo_data / "questions.jsonl"), role="answer")
    assert {(row.topic_id, row.doc_id, row.grade) for row in qrels.rows} == {
        (line.query_id, line.passage_id, line.relevance) for line in labels.qrels
    }


def test_the_order_of_the_reports_does_not_matter(
    few: Any, banks: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, reports = few
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))
    outputs = []
    for name, ordered in (("forwards", reports), ("backwards", reports[::-1])):
        settings: dict[str, Any] = {**LEXICAL, "outdir": tmp_path / name}
        qrels = ExamJudge().create_qrels(ordered, topics, None, banks, **settings)
        board = ExamJudge().judge(ordered, topics, None, banks, qrels, **settings)
        files = {path.name: path.read_bytes() for path in (tmp_path / name / "exam_pp_work").iterdir()}
        outputs.append((list(qrels.rows), list(board.entries), files))
    assert outputs[0] == outputs[1]
    runs = [entry.run_id for entry in outputs[0][1]]
    assert list(dict.fromkeys(runs)) == sorted(set(runs))


def graded_by_commands(
    demo: Path, demo_data: Path, folder: Path, topics: list[Any], reports: list[Any], **bank: str
) -> Path:
    """Import and grade the same reports with the command line of exam_pp."""
    runs = sorted({report.metadata.run_id for report in reports})
    queries = folder / "queries.json"
    queries.write_text(json.dumps({topic.request_id: topic.title for topic in topics}), encoding="utf-8")
    passages, graded = folder / "passages.jsonl.gz", folder / "graded.jsonl.gz"
    answers = [word for run in runs for word in ("--answers", str(demo / "reports" / f"{run}.jsonl"))]
    for words in (
        ["import", *answers, "--queries", str(queries), "-o", str(passages)],
        ["grade", str(passages), "-o", str(graded), "--model", "lexical",
         "--bank", str(demo_data / bank.get("name", "questions.jsonl")),
         "--prompt", bank.get("prompt", "QuestionSelfRatedUnanswerablePromptWithChoices")],
    ):  # fmt: skip
        main(words)
    return graded


def test_command_python_and_autojudge_say_the_same(
    few: Any, settings: dict[str, Any], banks: Any, demo: Path, demo_data: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The same answers and questions: equal grades, scores, and the sentence of the verdict."""
    topics, reports = few
    runs = sorted({report.metadata.run_id for report in reports})
    answers = [demo / "reports" / f"{run}.jsonl" for run in runs]
    queries, bank = tmp_path / "queries.json", tmp_path / "bank.jsonl"
    queries.write_text(json.dumps({topic.request_id: topic.title for topic in topics}), encoding="utf-8")
    lines = (demo_data / "questions.jsonl").read_text("utf-8").splitlines(keepends=True)
    ids = {topic.request_id for topic in topics}
    bank.write_text("".join(line for line in lines if json.loads(line)["query_id"] in ids), encoding="utf-8")

    named = [
        "--queries",
        str(queries),
        "--bank",
        str(bank),
        "--model",
        "lexical",
        "-o",
        str(tmp_path / "study"),
    ]
    main(["run", *(word for path in answers for word in ("--answers", str(path))), *named])
    printed = " ".join(capsys.readouterr().out.split())
    study = exam_pp.study(answers=answers, queries=queries, bank=bank).grade("lexical")
    qrels = ExamJudge().create_qrels(reports, topics, None, banks, **settings)
    board = table(ExamJudge().judge(reports, topics, None, banks, qrels, **settings))

    graded = [
        list(exam_pp.read_passages(path))
        for path in (
            tmp_path / "study" / "graded.jsonl.gz",
            tmp_path / "out" / "exam_pp_work" / "graded.jsonl.gz",
        )
    ]
    grades = [set(exam_pp.grade_table(each)) for each in (*graded, study.passages)]
    assert grades[0] == grades[1] == grades[2]
    assert study.verdict in printed
    means = {run: fmean(board["Cover"][run, topic] for topic in ids) for run in runs}
    assert study.leaderboard().means() == pytest.approx(means)


def test_the_leaderboard_verifies_and_equals_that_of_the_commands(
    few: Any, settings: dict[str, Any], banks: Any, demo: Path, demo_data: Path, tmp_path: Path
) -> None:
    from autojudge_base import LeaderboardVerification

    topics, reports = few
    ids = [topic.request_id for topic in topics]
    qrels = ExamJudge().create_qrels(reports, topics, None, banks, **settings)
    leaderboard = ExamJudge().judge(reports, topics, None, banks, qrels, **settings, min_grade=3)
    LeaderboardVerification(leaderboard, on_missing="error", expected_topic_ids=ids).all()
    assert leaderboard.measures == ("Cover", "label_mean", "V_strict")
    values = table(leaderboard)

    labels: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in qrels.rows:
        labels[row.doc_id.partition("/")[0], row.topic_id].append(row.grade)
    for key, of_answer in labels.items():
        assert values["label_mean"][key] == pytest.approx(fmean(of_answer))
    for measure in values.values():
        for run in {run for run, _ in labels}:
            assert measure[run, "all"] == pytest.approx(fmean(measure[run, topic] for topic in ids))

    assigned = graded_by_commands(
        demo, demo_data, tmp_path, topics, reports, name="nuggets.jsonl", prompt="NuggetAssignmentPointwise"
    )
    (scores,) = exam_pp.nugget_scores(assigned, demo_data / "nuggets.jsonl", queries=ids).values()
    vital = {(s.system, s.query_id): s.value for s in scores.scores if s.metric == "V_strict"}
    assert {key: value for key, value in values["V_strict"].items() if key[1] != "all"} == vital
    assert len(set(vital.values())) > 2, "the systems differ"


def test_without_vital_nuggets_the_column_is_left_out(
    few: Any, settings: dict[str, Any], demo_data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topics, reports = few
    with caplog.at_level(logging.WARNING):
        leaderboard = ExamJudge().judge(reports, topics, None, bank=demo_data / "questions.jsonl", **settings)
    assert leaderboard.measures == ("Cover", "label_mean")
    assert "V_strict is left out" in caplog.text


def test_missing_answers_score_0_and_other_topics_are_ignored(
    few: Any, settings: dict[str, Any], banks: Any
) -> None:
    topics, reports = few
    first = topics[0].request_id
    reports = [
        report for report in reports if (report.metadata.run_id, report.metadata.topic_id) != ("tf", first)
    ]
    values = table(ExamJudge().judge(reports, topics, None, banks, **settings, min_grade=1))
    assert {measure: by_key["tf", first] for measure, by_key in values.items()} == {
        "Cover": 0.0, "label_mean": 0.0, "V_strict": 0.0,
    }  # fmt: skip
    assert values["Cover"]["gen-long", first] > 0
    assert {topic for _, topic in values["Cover"]} == {"all", *(topic.request_id for topic in topics)}


def test_names_with_blanks(few: Any, settings: dict[str, Any], banks: Any) -> None:
    topics, reports = few
    report = reports[0].model_copy(deep=True)
    before = table(ExamJudge().judge([report], topics, None, banks, **settings))["label_mean"]
    name, report.metadata.run_id = report.metadata.run_id, "my run"
    qrels = ExamJudge().create_qrels([report], topics, None, banks, **settings)
    assert {row.doc_id.partition("/")[0] for row in qrels.rows} == {"my_run"}
    values = table(ExamJudge().judge([report], topics, None, banks, qrels, **settings))["label_mean"]
    assert values == {(run.replace(name, "my_run"), topic): value for (run, topic), value in before.items()}


def test_qrels_of_others_make_the_label_means(few: Any, settings: dict[str, Any], banks: Any) -> None:
    from autojudge_base import QrelRow, Qrels

    topics, reports = few
    first = topics[0].request_id
    qrels = Qrels(rows=[QrelRow(first, f"gen-long/{first}", 2)])
    values = table(ExamJudge().judge(reports, topics, None, banks, qrels, unit="whole", **settings))
    assert (values["label_mean"]["gen-long", first], values["label_mean"]["gen-short", first]) == (2, 0)


def test_finished_steps_ask_nothing_again(
    few: Any, settings: dict[str, Any], banks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, reports = few
    first = ExamJudge().judge(reports, topics, None, banks, **settings)
    monkeypatch.setattr(grading_run, "load_llm", lambda _options: pytest.fail("the model is loaded again"))
    assert ExamJudge().judge(reports, topics, None, banks, **settings).entries == first.entries
    stricter = ExamJudge().judge(reports, topics, None, banks, **settings, min_grade=5)
    assert stricter.entries != first.entries, "another threshold needs no grades"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"bank": None}, SelectionError, "name a file with the setting 'bank' or with the"),
        ({"prompt_class": "GradedRelevance"}, SelectionError, "of the setting prompt_class is of the kind"),
        ({"bank": "data/demo/qrels.txt"}, DataError, "is no test bank but qrels of trec_eval; name a"),
        ({"topic": "new"}, SelectionError, r"1 topic has no questions or nuggets in the bank: new\."),
        ({"run_id": " "}, DataError, "The system id ' ' is empty"),
    ],
)
def test_inputs_that_cannot_be_judged(
    changes: dict[str, str], error: type[Exception], message: str, few: Any, settings: dict[str, Any],
    repository: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(repository)
    topics, reports = few
    settings |= {"bank": "data/demo/questions.jsonl"} | changes
    topics = [
        *topics,
        topics[0].model_copy(update={"request_id": settings.pop("topic", topics[0].request_id)}),
    ]
    report = reports[0].model_copy(deep=True)
    report.metadata.run_id = settings.pop("run_id", report.metadata.run_id)
    with pytest.raises(error, match=message):
        ExamJudge().judge([report], topics, None, **settings)


def test_replies_that_cannot_be_read(few: Any, settings: dict[str, Any], banks: Any) -> None:
    pytest.importorskip("openai")
    topics, reports = few
    with serve(lambda _body, _count: completion("It depends.")) as server:
        own = settings | {"model": "m", "pipeline": "openai", "model_options": {"base_url": server.url}}
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", server.url)
            with pytest.raises(SelectionError, match=r"the reply is not a number .* such as 'It depends"):
                ExamJudge().judge(reports, topics, None, banks, **own)


def test_the_fields_of_a_topic_that_the_model_reads(topics: list[Any], tmp_path: Path) -> None:
    from exam_pp.plugins.autojudge.settings import Settings
    from exam_pp.plugins.autojudge.work import Work

    full = topics[0].model_copy(
        update={"title": "Tides", "background": "I sail.", "problem_statement": "Why do tides differ?"}
    )
    bare = topics[1].model_copy(update={"title": "GPS"})
    texts = {
        choice: list(Work(Settings(topic_text=choice, outdir=tmp_path), [full, bare]).topics.values())
        for choice in ("title", "problem_statement", "all")
    }
    assert texts == {
        "title": ["Tides", "GPS"],
        "problem_statement": ["Why do tides differ?", "GPS"],
        "all": ["Tides I sail. Why do tides differ?", "GPS"],
    }


@pytest.mark.parametrize(
    "citations",
    [[["d2"], ["d1", "d2"], []], [{"d2": 9.0}, {"d2": 1.0, "d1": 8.0}, {}], [[1], [0, 1], []]],
    ids=["ids", "confidences", "positions"],
)
def test_reports_of_all_tracks_keep_text_and_citations(citations: list[Any], tmp_path: Path) -> None:
    from autojudge_base import Report, Request

    from exam_pp.plugins.autojudge.settings import Settings
    from exam_pp.plugins.autojudge.work import Work

    report = Report.model_validate(
        {
            "metadata": {"team_id": "t", "run_id": "r", "narrative_id": 7},
            "references": ["d1", "d2"],
            "answer": [
                {"text": text, "citations": cited}
                for text, cited in zip(("The Moon.", "The Sun.", "Tides."), citations, strict=True)
            ],
        }
    )
    empty = Report.model_validate(
        {"metadata": {"team_id": "t", "run_id": "e", "topic_id": "7"}, "responses": []}
    )
    bank = exam_pp.BankLine(
        query_id="7",
        items=[exam_pp.Question(query_id="7", question_id="7/1", question_text="What causes tides?")],
    )
    topics = [Request(request_id="7", title="Tides")]
    work = Work(Settings(model="lexical", unit="sentence", outdir=tmp_path), topics)
    prompt, kept = work.grading([bank])
    graded = work.graded("Grades", "graded.jsonl.gz", [report, empty], kept, prompt)
    (query,) = exam_pp.read_passages(graded)
    passages = {passage.passage_id: passage for passage in query.passages}
    assert {key: passage.text for key, passage in passages.items()} == {
        "r/7#1": "The Moon.", "r/7#2": "The Sun.", "r/7#3": "Tides.", "e/7#1": "",
    }  # fmt: skip
    entries = {key: passage.data.rankings[0] for key, passage in passages.items()}
    assert {entry.role for entry in entries.values()} == {"answer"}
    assert [entries[f"r/7#{n}"].citations for n in (1, 2, 3)] == [["d2"], ["d1", "d2"], None]
