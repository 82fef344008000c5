"""A tournament in one command: RAGElo's CSV files, steps, resuming, options and mistakes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, SelectionError, StoppedError
from exam_pp.games import Game
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.phases.rag.tournament import Tournament, TournamentOptions, TournamentSources, tournament
from exam_pp.phases.tournaments.compare import CompareOptions
from exam_pp.phases.tournaments.ratings import RatingOptions
from exam_pp.requests import Completion
from exam_pp.roles import answers_in, outputs_of
from exam_pp.store.games import read_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts

QUERIES = "qid,query\n0, How often do tides rise?\n1, What is salt?\n"
ANSWERS = """qid,agent,answer
0, short,"Twice [0]."
0, long,"The tides rise twice a day [0], as the moon attracts the water."
1, short,"A mineral."
1, long,"Salt is a mineral, which is white and tastes salty."
"""
DOCUMENTS = "qid,did,document\n0,0, The tides rise twice a day.\n1,1, Salt is a mineral.\n1,2, Waves break.\n"
REASONINGS = (
    "qid,did,raw_answer,answer\n"
    "0,0,Very relevant: it says so.,Very relevant: it says so.\n"
    "1,1,Very relevant: it names it.,Very relevant: it names it.\n"
    "1,2,Not relevant: other topic.,Not relevant: other topic.\n"
)
LEXICAL = ModelOptions("lexical")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with files of RAGElo."""
    monkeypatch.chdir(tmp_path)
    contents = {
        "queries.csv": QUERIES,
        "answers.csv": ANSWERS,
        "documents.csv": DOCUMENTS,
        "reasonings.csv": REASONINGS,
    }
    for name, content in contents.items():
        Path(name).write_text(content)
    return tmp_path


def sources(*documents: str, answers: str = "answers.csv", queries: str = "queries.csv") -> TournamentSources:
    return TournamentSources(Path(queries), None, [Path(answers)], [Path(name) for name in documents])


def run(
    files: TournamentSources,
    games: CompareOptions | None = None,
    *,
    reasons: bool = False,
    model: ModelOptions = LEXICAL,
    out: str = "out",
) -> Tournament:
    return tournament(files, Path(out), model, TournamentOptions(games or CompareOptions(), reasons))


def games_of(result: Tournament) -> Iterator[tuple[str, Game]]:
    for query in read_games(result.games):
        for of_set in query.game_sets:
            yield from ((query.query_id, game) for game in of_set.games)


def info_of(result: Tournament) -> dict[str, Any]:
    (query, *_) = read_games(result.games)
    return query.game_sets[0].prompt_info or {}


def test_files_of_ragelo_become_a_leaderboard(folder: Path) -> None:
    """Blanks around cells do not count; the lexical judge prefers the answer with more query words."""
    result = run(sources("documents.csv"))
    assert read_query_texts("out/queries.json") == {"0": "How often do tides rise?", "1": "What is salt?"}
    (first, second) = read_passages(result.passages)
    assert {system for system, _ in answers_in(first)} == {"short", "long"}
    assert [p.text for p in second.passages if not p.rankings] == ["Salt is a mineral.", "Waves break."]
    assert [(query_id, {game.system_a, game.system_b}) for query_id, game in games_of(result)] == [
        ("0", {"short", "long"}), ("1", {"short", "long"}),
    ]  # fmt: skip
    assert result.ratings.standings.systems == ["long", "short"]
    assert [(pair.system_a, pair.won) for pair in result.pairs] == [("long", 1.0)]
    (judge,) = result.biases.judges
    assert judge.biases.longer.count == 2


def test_the_column_agent_gives_each_system_its_documents(folder: Path) -> None:
    Path("documents.csv").write_text("qid,did,document,agent\n0,0,Tides., short\n0,3,Moon., long\n")
    result = run(sources("documents.csv"))
    outputs = outputs_of(next(read_passages(result.passages)))
    assert {system: [p.passage_id for p in of.retrieved] for (system, _), of in outputs.items()} == {
        "short": ["0"], "long": ["3"],
    }  # fmt: skip


def test_documents_can_be_texts_of_cited_passages_or_a_passages_file(folder: Path) -> None:
    lines = [
        {"query_id": "0", "system": system, "answer": [{"text": text, "citations": ["p1"]}]}
        for system, text in (("x", "Tides rise."), ("y", "Twice."))
    ]
    Path("answers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("texts.tsv").write_text("p1\tTides rise twice.\np2\tOther text.\n")
    result = run(sources("texts.tsv", answers="answers.jsonl"))
    (query,) = read_passages(result.passages)
    assert {p.passage_id for p in query.passages} == {"x/0", "y/0", "p1"}
    again = TournamentSources(Path("queries.csv"), result.passages)
    assert [game for _, game in games_of(run(again, out="again"))] == [g for _, g in games_of(result)]
    assert not Path("again/passages.jsonl.gz").exists(), "the file of the user is read"


def test_the_model_labels_each_document_once_and_the_judge_reads_the_reason(folder: Path) -> None:
    result = run(sources("documents.csv"), reasons=True, model=ModelOptions("fake"))
    graded = [p for query in read_passages(result.passages) for p in query.passages]
    assert {p.passage_id: len(list(p.grade_sets())) for p in graded} == {
        "0": 1, "1": 1, "2": 1, "short/0": 0, "long/0": 0, "short/1": 0, "long/1": 0,
    }  # fmt: skip
    assert info_of(result)["evidence"] == "both"
    assert info_of(result)["reasons_by"] == ["fake", "RAGEloReasoner"]


def test_labels_of_ragelo_take_the_place_of_the_model(folder: Path) -> None:
    result = run(sources("documents.csv", "reasonings.csv"), CompareOptions(evidence="both", min_relevance=2))
    assert info_of(result)["reasons_by"] == ["ReasonerEvaluator", "ReasonerEvaluator"]
    assert {p.passage_id: p.text for q in read_passages(result.passages) for p in q.passages}["2"] == (
        "Waves break."
    )


class _Stops(FakeLLM):
    """A fake model that is stopped at its n-th request."""

    batch_size = 1
    requests = 0
    last = 10**9

    def reply(self, request: Any) -> Any:
        if _Stops.requests >= _Stops.last:
            raise StoppedError("stopped")
        _Stops.requests += 1
        return super().reply(request)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Load a fake model that is stopped after a number of requests, counted from now."""
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _model: _Stops())

    def after(number: int) -> None:
        _Stops.requests, _Stops.last = 0, number

    return after


def test_an_interrupted_tournament_continues(folder: Path, stopping: Callable[[int], None]) -> None:
    both, fake = CompareOptions(both_orders=True), ModelOptions("fake")
    stopping(10**9)
    whole = run(sources("documents.csv"), both, reasons=True, model=fake, out="whole")
    assert _Stops.requests == 7, "three documents, and two pairs in both orders"
    for number in (2, 5):  # in the reasons, and in the games
        out = f"out-{number}"
        stopping(number)
        with pytest.raises(StoppedError):
            run(sources("documents.csv"), both, reasons=True, model=fake, out=out)
        stopping(10**9)
        run(sources("documents.csv"), both, reasons=True, model=fake, out=out)
        assert _Stops.requests == 7 - number
        assert Path(out, "games.jsonl.gz").read_bytes() == whole.games.read_bytes()
        stopping(0)  # any request would stop it
        again = run(sources("documents.csv"), both, reasons=True, model=fake, out=out)
        assert again.ratings.standings == whole.ratings.standings


def test_a_change_repeats_only_the_steps_that_it_changes(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def complete() -> set[str]:
        found = {m.split(":")[0] for m in caplog.messages if m.endswith("complete, not computed again.")}
        caplog.clear()
        return found

    caplog.set_level(logging.INFO)
    run(sources("documents.csv"))
    assert complete() == set()
    run(sources("documents.csv"), CompareOptions(seed=1))
    assert complete() == {"Documents", "Answers", "Answers and documents", "Queries"}
    Path("answers.csv").write_text(ANSWERS.replace("A mineral.", "Sea salt."))
    run(sources("documents.csv"), CompareOptions(seed=1))
    assert complete() == {"Documents", "Queries"}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            ANSWERS + "7,short,Yes.\n",
            r"^answers.csv: answers 1 query without a text in queries.csv \(7\); add the texts, or remove",
        ),
        (
            ANSWERS + "1, short,Again.\n",
            "^answers.csv, line 6: the agent 'short' answers the query '1' twice",
        ),
        (
            "qid,agent,answer\n0,short,Yes.\n1,short,No.\n",
            r"^A tournament needs a query with answers of two systems; answers.csv has only answers of short",
        ),
    ],
    ids=["unknown query", "two answers", "one system"],
)
def test_answers_that_cannot_play_are_an_error(folder: Path, answers: str, message: str) -> None:
    Path("answers.csv").write_text(answers)
    with pytest.raises((DataError, SelectionError), match=message):
        run(sources("documents.csv"))
    assert not Path("out/games.jsonl.gz").exists()


def test_queries_without_games_are_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("queries.csv").write_text(QUERIES + "2,Who?\n3,Why?\n")
    Path("answers.csv").write_text(ANSWERS + "3,long,Therefore.\n")
    result = run(sources())
    assert {query_id for query_id, _ in games_of(result)} == {"0", "1"}
    assert "1 query has no answer, and no games: 2." in caplog.messages
    assert "1 query has an answer of one system only, and no games: 3." in caplog.messages


def test_only_the_first_queries_and_named_systems_play(folder: Path) -> None:
    Path("answers.csv").write_text(ANSWERS + "0,third,Thrice.\n1,third,Sea.\n")
    result = run(sources(), CompareOptions(systems=["third", "long"], max_queries=1))
    assert [(query_id, {game.system_a, game.system_b}) for query_id, game in games_of(result)] == [
        ("0", {"third", "long"})
    ]


@pytest.mark.parametrize(
    ("documents", "options", "message"),
    [
        ((), TournamentOptions(reasons=True), "--reasons needs documents to label; name their file with"),
        (
            ("documents.csv",), TournamentOptions(CompareOptions(evidence="text"), reasons=True),
            "--reasons has no effect: the prompt of the games shows no reasons",
        ),
        (
            ("documents.csv",), TournamentOptions(CompareOptions(min_relevance=1)),
            "--min-relevance need labels of the documents; let the model write them with --reasons",
        ),
    ],
)  # fmt: skip
def test_options_without_an_effect_are_an_error(
    folder: Path, documents: tuple[str, ...], options: TournamentOptions, message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        tournament(sources(*documents), Path("out"), LEXICAL, options)


def test_texts_without_answers_are_an_error(folder: Path) -> None:
    result = run(sources())
    Path("texts.tsv").write_text("p1\tA text.\n")
    files = TournamentSources(Path("queries.csv"), result.passages, (), [Path("texts.tsv")])
    with pytest.raises(SelectionError, match=r"texts.tsv is not a file of passages; texts of passages can"):
        run(files, out="again")


def test_documents_that_no_answer_uses_are_named(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("texts.tsv").write_text("p1\tA text.\n")
    run(sources("texts.tsv"))
    assert "--documents has no effect: the answers list and cite no document of its files." in caplog.messages


def test_a_query_without_a_text_is_an_error(folder: Path) -> None:
    Path("queries.jsonl").write_text('{"query_id": "0", "query_text": " "}\n')
    with pytest.raises(DataError, match=r"queries\.jsonl"):
        run(sources(queries="queries.jsonl"))


def test_a_choice_of_the_verdict_leaves_reasons_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chosen label has no sentence, which the judge could read."""
    chosen: list[bool] = []

    class Chooses(FakeLLM):
        """Answers with the first label, if a request has some."""

        def reply(self, request: Any) -> Any:
            return Completion(request.labels[0]) if request.labels else super().reply(request)

    def load(model: ModelOptions) -> FakeLLM:
        chosen.append(model.choose)
        return Chooses()

    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", load)
    run(sources("documents.csv"), reasons=True, model=ModelOptions("fake", choose=True))
    assert chosen == [False, True]


def test_ratings_have_the_chosen_methods(folder: Path) -> None:
    options = TournamentOptions(ratings=RatingOptions(["bradley-terry"]))
    result = tournament(sources(), Path("out"), LEXICAL, options)
    assert result.ratings.standings.metrics == ["Bradley-Terry"]


COMMAND = [
    "tournament", "--queries", "queries.csv", "--answers", "answers.csv", "--documents", "documents.csv",
    "--model", "lexical",
]  # fmt: skip


def test_the_command_prints_the_leaderboard_and_fills_the_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    Path("out/own.txt").write_text("mine")
    main([*COMMAND, "-o", "out"])
    printed = capsys.readouterr().out
    assert printed.index("long") < printed.index("short")
    assert "Share of games that the system of the row won" in printed
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "answers.jsonl.gz", "documents.jsonl.gz", "games.jsonl.gz", "index.html", "leaderboard.tsv",
        "own.txt", "passages.jsonl.gz", "queries.json", "report.md", "steps.json",
    ]  # fmt: skip
    header, first, _ = Path("out/leaderboard.tsv").read_text().splitlines()
    assert header.split("\t")[:2] == ["system", "Elo"]
    assert first.startswith("long\t")
    for page in ("index.html", "report.md"):
        text = Path("out", page).read_text()
        assert all(
            part in text for part in ("Head to head", "Biases of the judge", "longer answer", "lexical")
        )
    assert 'href="games.jsonl.gz"' in Path("out/index.html").read_text()
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    main([*COMMAND, "-o", "out"])
    assert capsys.readouterr().out == printed
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before


def test_the_leaderboard_is_that_of_evaluate_elo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*COMMAND, "--both-orders", "-o", "out"])
    capsys.readouterr()
    main(["evaluate", "elo", "out/games.jsonl.gz", "--format", "tsv"])
    assert capsys.readouterr().out == Path("out/leaderboard.tsv").read_text()


def test_own_reasons_and_those_of_another_grader_are_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--reasons", "--evidence", "both", "--reasons-grader", "other"]
    with pytest.raises(SystemExit) as stop:
        main([*COMMAND, *options, "-o", "out"])
    assert stop.value.code == 2
    assert "--reasons-grader and --reasons-class cannot be combined with --reasons" in capsys.readouterr().err


@pytest.mark.parametrize("inputs", [[], ["passages.jsonl", "--answers", "answers.csv"]])
def test_answers_are_named_once(folder: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("passages.jsonl").write_text("")
    with pytest.raises(SystemExit) as stop:
        main(["tournament", *inputs, "--queries", "queries.csv", "--model", "fake", "-o", "out"])
    assert stop.value.code == 2
    assert "Name either PASSAGES, or files of answers with --answers." in capsys.readouterr().err


def test_an_input_in_the_folder_is_never_overwritten(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    Path("out/answers.jsonl.gz").write_text(ANSWERS)
    command = [(word == "answers.csv" and "out/answers.jsonl.gz") or word for word in COMMAND]
    with pytest.raises(SystemExit):
        main([*command, "-o", "out"])
    assert "answers.jsonl.gz is also an input" in capsys.readouterr().err
    assert Path("out/answers.jsonl.gz").read_text() == ANSWERS


def test_published_files_of_ragelo(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = shared_data / "ragelo"
    named = [
        word
        for name in ("queries", "answers", "documents")
        for word in (f"--{name}", str(files / f"{name}.csv"))
    ]
    main(["-q", "tournament", *named, "--reasons", "--both-orders", "--model", "fake", "-o", str(tmp_path)])
    printed = capsys.readouterr().out
    assert all(agent in printed for agent in ("agent1", "agent2"))
    pairs = [
        (query.query_id, len(query.game_sets[0].games)) for query in read_games(tmp_path / "games.jsonl.gz")
    ]
    assert pairs == [("0", 2), ("1", 2)]
