"""Comparison of answers: games from file to file, documents, reuse, resume and mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.games import Game, QueryGames
from exam_pp.llm import LLM, ModelOptions
from exam_pp.llm.baselines import ConstantLLM, RandomLLM
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm.lexical import LexicalLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.games import compare as module
from exam_pp.plugins.games.compare import (
    CompareOptions,
    CompareSummary,
    PairGrader,
    PairUnit,
    compare,
)
from exam_pp.plugins.games.merge import merge_games
from exam_pp.prompts import PROMPTS
from exam_pp.store.games_files import read_games
from tests.plugins.games.answers import output

Json = dict[str, Any]
SYSTEMS = ("a", "b", "c", "d")
QUERIES = ("q1", "q2", "q3")


def passage(key: str, text: str, *entries: Json, grade: Json | None = None) -> Json:
    rankings = [{"paragraphId": key, "queryId": "q", "rank": 1, "score": 1.0, **entry} for entry in entries]
    grades = {"grades": [grade]} if grade else {}
    return {
        "paragraph_id": key,
        "text": text,
        "paragraph_data": {"judgments": [], "rankings": rankings},
    } | grades


def answer(system: str, query: str, text: str, **more: Any) -> Json:
    name = f"{system}-run-{more['repeat']}" if "repeat" in more else system
    return passage(f"{name}/{query}", text, {"method": system, "role": "answer", **more})


def retrieved(key: str, *systems: str, rank: int = 1, grade: Json | None = None) -> Json:
    entries = [{"method": system, "role": "retrieved", "rank": rank} for system in systems]
    return passage(key, f"Text of {key}.", *entries, grade=grade)


def reasoned(label: int, reason: str, model: str = "reasoner") -> Json:
    return {
        "llm": model,
        "prompt_info": {"prompt_class": "Reasoner", "is_self_rated": True},
        "prompt_type": "direct_grading",
        "correctAnswered": label > 0,
        "self_ratings": label,
        "relevance_label": label,
        "answer": reason,
    }


LINES = [
    [query, [answer(system, query, f"{'word ' * number}{query}") for number, system in enumerate(SYSTEMS, 1)]]
    for query in QUERIES
]


class Folder:
    """A folder with a passages file, from which games are made with a scripted judge."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.asked: list[Request] = []
        self.script: Callable[[Request], Completion | str] = longer_wins
        self.name = "judge"
        monkeypatch.setattr(module, "load_llm", lambda *_: FakeLLM(self._reply, self.name))
        self.write(LINES)

    def write(self, lines: list[Any]) -> None:
        (self.path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        texts = {line[0]: f"What about {line[0]}?" for line in lines}
        (self.path / "q.json").write_text(json.dumps(texts))

    def _reply(self, request: Request) -> Completion | str:
        self.asked.append(request)
        return self.script(request)

    def compare(
        self, output: str = "g.jsonl", games: str | None = None, model: Json | None = None, **options: Any
    ) -> CompareSummary:
        self.asked.clear()
        files = GradeFiles(
            self.path / "p.jsonl",
            self.path / output,
            queries=self.path / "q.json",
        )
        known = None if games is None else self.path / games
        return compare(files, ModelOptions("judge", **(model or {})), CompareOptions(games=known, **options))

    def games(self, output: str = "g.jsonl") -> dict[str, list[Game]]:
        return {
            line.query_id: [game for of_set in line.game_sets for game in of_set.games]
            for line in self.lines(output)
        }

    def lines(self, output: str = "g.jsonl") -> list[QueryGames]:
        return list(read_games(self.path / output))


def longer_wins(request: Request) -> str:
    """A judge without a bias of place: the answer with more words wins."""
    a, b = (len((request.slot(slot) or "").split()) for slot in ("answer_a", "answer_b"))
    return f"I count words. [[{'C' if a == b else 'A' if a > b else 'B'}]]"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    return Folder(tmp_path, monkeypatch)


def pairs(games: list[Game]) -> list[tuple[str, str]]:
    return sorted(tuple(sorted((game.system_a, game.system_b))) for game in games)  # type: ignore[misc]


def test_every_pair_plays_for_every_query(folder: Folder) -> None:
    summary = folder.compare()
    games = folder.games()
    assert list(games) == list(QUERIES)
    for of_query in games.values():
        assert len(pairs(of_query)) == len(set(pairs(of_query))) == 6
        for game in of_query:
            better = max(game.system_a, game.system_b)
            assert game.winner == ("A" if better == game.system_a else "B"), "more words win"
            assert game.order is None
    assert len({game.system_a < game.system_b for of_query in games.values() for game in of_query}) == 2
    assert (summary.winners.total(), summary.asked, summary.queries) == (18, 18, 3)


def test_a_line_records_query_judge_prompt_and_options(folder: Folder) -> None:
    folder.compare(evidence="none", factors="brevity.", unparsed="chat")
    line = folder.lines()[0]
    assert (line.query_id, line.query_text) == ("q1", "What about q1?")
    (of_set,) = line.game_sets
    assert (of_set.model, of_set.prompt_type, of_set.prompt_class) == ("judge", "pair", "PairwiseAnswers")
    info = of_set.prompt_info or {}
    assert (info["evidence"], info["factors"], info["unparsed"]) == ("none", "brevity.", "chat")
    assert info["prompt_hash"] != PROMPTS.get("PairwiseAnswers").hash, "another sentence, another hash"
    assert of_set.games[0].words_b is not None


def test_the_order_of_the_file_and_shards_do_not_change_games(folder: Folder) -> None:
    folder.compare(games_per_query=2, seed=3)
    whole = folder.games()
    assert {len(games) for games in whole.values()} == {2}
    folder.write([[query, passages[::-1]] for query, passages in LINES[::-1]])
    folder.compare(games_per_query=2, seed=3)
    assert folder.games() == whole
    folder.write(LINES[1:2])
    folder.compare(games_per_query=2, seed=3)
    assert folder.games() == {"q2": whole["q2"]}


def test_both_orders(folder: Folder) -> None:
    folder.script = lambda _request: "[[A]]"
    summary = folder.compare(both_orders=True, systems=("a", "b"))
    for one, two in folder.games().values():
        assert (one.order, two.order) == (1, 2)
        assert (one.system_a, one.system_b) == (two.system_b, two.system_a)
    assert "Place A wins 6, place B 0, ties 0." in list(summary.lines())


def test_empty_answers_and_the_summary(folder: Folder) -> None:
    texts = {"a": "one two", "b": "", "c": "one two", "d": "three"}
    folder.write([["q1", [answer(system, "q1", text) for system, text in texts.items()]]])
    folder.script = lambda request: "[[C]]" if "three" not in request.text else Completion("?", tokens_cut=3)
    summary = folder.compare(same_text_is_tie=True)
    assert (summary.asked, summary.graded, summary.reasons.total(), summary.shortened) == (2, 4, 2, 2)
    assert summary.without_call == {"empty answer": 3, "same text": 1}
    lines = list(summary.lines())
    assert lines[0] == "4 games played, 2 ungraded, 0 played before (1 query, 2 model calls)."
    assert "Without a model call: 3 × empty answer." in lines
    assert "Ungraded: 2 × the reply has no verdict [[A]], [[B]] or [[C]]." in lines
    assert "2 games have documents shortened to fit the model." in lines
    for game in folder.games()["q1"]:
        if "b" in (game.system_a, game.system_b):
            assert (game.winner, game.decided_by) == ("B" if game.system_a == "b" else "A", "empty answer")


def test_documents_are_those_of_both_systems_best_first(folder: Folder) -> None:
    cites = answer("b", "q1", "It is so.", citations=["p3", "p2"])
    others = [retrieved("p1", "a", rank=2), retrieved("p2", "a"), retrieved("p3"), retrieved("p4", "c")]
    folder.write([["q1", [answer("a", "q1", "Yes."), cites, answer("c", "q1", "No."), *others]]])
    folder.compare(systems=("a", "b"), both_orders=True)
    shown = [request.slot("documents") for request in folder.asked]
    assert shown == ["[p2] Text of p2.\n[p3] Text of p3.\n[p1] Text of p1."] * 2


GRADED = [
    [
        "q1",
        [
            answer("a", "q1", "Yes."),
            answer("b", "q1", "No."),
            retrieved("p1", "a", grade=reasoned(1, "Somewhat.")),
            retrieved("p2", "b", rank=2, grade=reasoned(2, "<think>?</think>Very.")),
        ],
    ]
]


def test_reasons_and_labels_of_direct_grades(folder: Folder) -> None:
    folder.write(GRADED)
    folder.compare(evidence="both")
    assert folder.asked[0].slot("documents") == (
        "[p1] Text of p1.\nReason: Somewhat.\n[p2] Text of p2.\nReason: Very."
    )
    folder.compare(evidence="reason", min_relevance=2)
    assert folder.asked[0].slot("documents") == "[p2] Very."
    info = folder.lines()[0].game_sets[0].prompt_info or {}
    assert (info["min_relevance"], info["reasons_by"]) == (2, ["reasoner", "Reasoner"])
    folder.compare(min_relevance=3)
    assert folder.asked[0].slot("documents") == "NO DOCUMENTS WERE RETRIEVED"


def test_a_document_without_a_label_where_the_threshold_needs_it(folder: Folder) -> None:
    query, passages = GRADED[0]
    folder.write([[query, [*passages, retrieved("p3", "a", rank=3)]]])
    folder.compare(evidence="both")
    with pytest.raises(SelectionError, match="The document 'p3' of the query 'q1' has no label") as raised:
        folder.compare("other.jsonl", min_relevance=2)
    assert "--min-judgment" in str(raised.value)
    assert not (folder.path / "other.jsonl").exists()


def test_games_of_the_same_judge_are_not_played_again(folder: Folder) -> None:
    folder.compare("old.jsonl", systems=("a", "b", "c"))
    summary = folder.compare(games="old.jsonl", seed=7)
    assert (summary.reused, summary.asked) == (9, 9), "in any places"
    merge_games([folder.path / "old.jsonl", folder.path / "g.jsonl"], folder.path / "all.jsonl")
    for games in folder.games("all.jsonl").values():
        assert len(set(pairs(games))) == len(games) == 6


@pytest.mark.parametrize(
    "change",
    [{"evidence": "none"}, {"factors": "brevity."}, {"unparsed": "chat"}, {"prompt": "PairwiseChoice"}],
)
def test_games_of_other_judges_are_played(folder: Folder, change: Json) -> None:
    folder.compare("old.jsonl", systems=("a", "b"))
    prompt = {"prompt": PROMPTS.get(change["prompt"])} if "prompt" in change else change
    summary = folder.compare(games="old.jsonl", systems=("a", "b"), **prompt)
    assert (summary.reused, summary.winners.total() + summary.reasons.total()) == (0, 3)


def test_both_orders_complete_single_games(folder: Folder) -> None:
    folder.compare("old.jsonl", systems=("a", "b"))
    summary = folder.compare(games="old.jsonl", systems=("a", "b"), both_orders=True, seed=5)
    assert (summary.reused, summary.asked) == (3, 3)


def test_ungraded_games_are_played_again(folder: Folder) -> None:
    folder.script = lambda request: "?" if "q1" in request.text else longer_wins(request)
    folder.compare("old.jsonl", systems=("a", "b"))
    folder.script = longer_wins
    summary = folder.compare(games="old.jsonl", systems=("a", "b"))
    assert (summary.reused, summary.asked) == (2, 1)


def test_the_likeliest_label(folder: Folder) -> None:
    folder.script = lambda request: Completion(request.labels[2], label_logprobs=(-2.0, -2.0, -1.0))
    assert folder.compare(model={"choose": True}).winners == {"C": 18}
    assert folder.games()["q1"][0].decided_by == "choice"


BOTH = [answer("a", "q1", "x"), answer("b", "q1", "y")]


@pytest.mark.parametrize(
    ("passages", "options", "about"),
    [
        ([answer("a", "q1", "x")], {}, "No query in .* has answers of two systems, only of a"),
        ([retrieved("p", "a")], {}, "has no answers; import answers"),
        (BOTH, {"systems": ("a", "gone")}, "has no answers of the system 'gone'"),
        (BOTH, {"evidence": "reason"}, "has no grades"),
        (
            BOTH,
            {"evidence": "none", "min_relevance": 1},
            "--min-judgment has no effect",
        ),
        (
            BOTH,
            {"prompt": PROMPTS.get("AnswerAttempt")},
            "does not compare answers",
        ),
        (
            BOTH,
            {"prompt": PROMPTS.get("PairwiseChoice"), "factors": "brevity"},
            "--factors has no effect",
        ),
        (
            BOTH,
            {"prompt": PROMPTS.get("PairwiseChoice"), "answers_cite": True},
            "--answers-cite has no effect",
        ),
    ],
)  # fmt: skip
def test_mistakes(folder: Folder, passages: list[Json], options: Json, about: str) -> None:
    folder.write([["q1", passages]])
    with pytest.raises(SelectionError, match=about):
        folder.compare(**options)
    assert not (folder.path / "g.jsonl").exists()


def test_queries_without_a_text_have_no_games(folder: Folder) -> None:
    (folder.path / "q.json").write_text('{"q1": "What?"}')
    summary = folder.compare()
    assert {query: len(games) for query, games in folder.games().items()} == {"q1": 6, "q2": 0, "q3": 0}
    assert "No games for 2 queries without a text: q2, q3." in list(summary.lines())
    (folder.path / "q.json").write_text('{"other": "What?"}')
    with pytest.raises(SelectionError, match=r"has no text for the queries in .*, such as 'q1'"):
        folder.compare("none.jsonl")


@pytest.mark.parametrize("prompt", ["PairwiseAnswers", "PairwiseChoice"])
@pytest.mark.parametrize(
    ("judge", "winners"),
    [(FakeLLM(), {"B"}), (LexicalLLM(), {"B"}), (ConstantLLM(), {"B"}), (RandomLLM(), {"A", "B", "C"})],
    ids=lambda value: getattr(value, "name", ""),
)
def test_judges_without_a_model(judge: LLM, winners: set[str], prompt: str) -> None:
    """The fake and the lexical judge count words of the query; the others do not read the answers."""
    grader = PairGrader(PROMPTS.get(prompt))
    found = set()
    for number in range(30):
        a, b = output("x", f"Nothing {number}."), output("y", "Bees dance and sing.")
        game = grader.run(PairUnit("Which bees dance?", a, b))
        ((_, reply),) = judge.generate(next(game))
        with pytest.raises(StopIteration) as stop:
            game.send([reply])
        found.add(stop.value.value.winner)
    assert found == winners
