"""Files that examples in help texts and pages of the documentation name, and a stand-in for chat models."""

from __future__ import annotations

import fcntl
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.phases.review.content_keys import entry_keys, passage_key, query_text_of, scale_of
from exam_pp.prompts import PROMPTS
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.edits import BankEdit, Edits, HumanRating, file_sha256, write_edits
from exam_pp.store.games_files import write_games
from exam_pp.store.manifests import manifest_path
from exam_pp.store.passages.graded_file import read_passages
from tests.llm.endpoint_server import Answer, completion

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"
ASSIGNED = "NuggetAssignmentPointwise"
DIRECT = "GradedRelevance"
ATTEMPT = "AnswerAttempt"
LARGE, BASE = "google/flan-t5-large", "google/flan-t5-base"


def write_games_of(path: Path, judge: str, games: Mapping[str, Sequence[str]]) -> None:
    """Write games, given for each query as texts of two systems and the winner."""
    sets = {
        query_id: GameSet(
            model=judge,
            prompt_info={"prompt_class": "Pairwise"},
            games=[
                Game.model_validate(dict(zip(("system_a", "system_b", "winner"), game.split(), strict=True)))
                for game in of_query
            ],
        )
        for query_id, of_query in games.items()
    }
    lines = [QueryGames(query_id=query_id, game_sets=[games_of]) for query_id, games_of in sets.items()]
    write_games(lines, path)


class ExampleFiles:
    """The files that examples name, each made when it is first needed, and once for all test processes.

    ==========================  =====================================================================
    ``data/``                   the demo collection of the repository
    ``runs/``                   ten run files; ``bm25.run`` outside is a copy of one of them
    ``queries.jsonl``           texts of the queries
    ``passages.tsv``            texts of the passages
    ``qrels.txt``               judgments; ``qrels-b.txt`` those of a second judge
    ``questions.jsonl``         test bank of questions; ``questions-2.jsonl`` is a copy
    ``questions.csv``           the same bank as a spreadsheet
    ``questions-gold.jsonl``    the same bank with gold answers
    ``nuggets.jsonl``           test bank of nuggets
    ``official.json``           official leaderboard
    ``generated.jsonl``         queries that the model fake made of some passages
    ``answers.jsonl``           answers of a RAG system; ``answers-2.jsonl`` those of another
    ``passages.jsonl.gz``       passages file: texts, rankings, judgments; ``passages-1-of-2.jsonl.gz`` ...
    ``graded.jsonl.gz``         graded by google/flan-t5-large with questions.jsonl, ratings of one prompt
    ``graded-canaries.jsonl.gz``  a graded file with a canary
    ``two-models.jsonl.gz``     graded by two models, ratings and extracted answers
    ``answers.jsonl.gz``        whole answers as passages
    ``assigned-2.jsonl.gz``     these with nuggets assigned by another model than in assigned.jsonl.gz
    ``assigned.jsonl.gz``       these with nuggets assigned
    ``cited.jsonl.gz``          parts of answers with the passages that they cite
    ``scored.jsonl.gz``         these with scores of factual consistency
    ``nli-model/``              a checkpoint for natural language inference
    ``repeated.csv``            answers of two runs of a system with their passages, of Open RAG Eval
    ``repeated.jsonl.gz``       these as passages
    ``repeated-scores.jsonl``   scores of both runs
    ``rag.toml``                options of evaluate rag
    ``games.jsonl.gz``          games between answers of three systems on two queries
    ``ratings.csv``             a person's ratings of answers by criteria; added in ``rated-answers.jsonl``
    ``games.jsonl``             games between the answers; ``human-games.jsonl`` those of a person
    ``queries.csv``, ...        queries, answers of two systems and documents, as CSV files of RAGElo
    ``attempted.jsonl.gz``      whole answers with verdicts of the prompt AnswerAttempt
    ``labelled.jsonl.gz``       passages.jsonl.gz with direct grades of the prompt class GradedRelevance
    ``cover.tsv``, ``ndcg.tsv`` leaderboards with scores of every query; ``cover-again.tsv`` is cover.tsv
                                with another cutoff
    ``baseline.tsv``            scores of every query by bm25; ``new.tsv`` by rerank
    ``families.toml``           families of models and systems
    ``panel.toml``              a panel of the graders lexical and random
    ``all.games.jsonl.gz``      games between answers of the systems bm25 and gen-long
    ``pairs.json``              pairs of graded.jsonl.gz that people label
    ``labelled-pairs.jsonl.gz`` the same file with labels of people
    ``edits.json``              ratings by a reviewer of graded.jsonl.gz and questions.jsonl
    ``games.jsonl.gz``          a game of a model between answers of answers.jsonl.gz
    ``game-edits.json``         the decision of a reviewer on this game, drawn with the seed 7
    ``google/flan-t5-large/``   a tiny checkpoint; any OpenAI-compatible model is a fake
    ==========================  =====================================================================
    """

    def __init__(self, folder: Path, data: Path) -> None:
        self._copies, self._made, self._data = folder / "copies", folder / "made", data

    def path(self, name: str) -> Path:
        """The path of a file, which is made with everything that it is made of."""
        self._make([name])
        return self._made / name

    def copy(self, text: str, folder: Path) -> None:
        """Make a folder with all files that no command makes, and those that a text names."""
        made = self._make(_names_in(text))
        shutil.copytree(self._copies, folder, symlinks=True)
        for name in made:
            source, target = self._made / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)
            if (manifest := manifest_path(source)).exists():
                shutil.copy(manifest, folder)

    def _make(self, names: Iterable[str]) -> list[str]:
        """Make files; returns their names and those of the files that they are made of."""
        self._made.parent.mkdir(exist_ok=True)
        with (self._made.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._made.exists():
                self._copies.mkdir()
                copy_files(self._copies, self._data)
                shutil.copytree(self._copies, self._made, symlinks=True)
            with chdir(self._made):
                return list(dict.fromkeys(made for name in names for made in _make(name)))


def _names_in(text: str) -> list[str]:
    return [name for name in _MAKERS if re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-]|\.\w)", text)]


def _make(name: str) -> list[str]:
    """Make a file in the working directory, unless it is there."""
    if name not in _MAKERS:
        return []
    command = _MAKERS[name]
    sources = command.split("-o")[0] if isinstance(command, str) else command.__doc__ or ""
    needed = [made for source in _names_in(sources) if source != name for made in _make(source)]
    if not Path(name).exists():
        if isinstance(command, str):
            main(shlex.split(command))
        else:
            command()
    return [*needed, name]


def copy_files(folder: Path, data: Path) -> None:
    """The files that no command makes."""
    demo = data / "demo"
    (folder / "data").symlink_to(data)
    copies = {
        "queries.jsonl": "queries.jsonl", "passages.tsv": "passages.tsv", "qrels.txt": "qrels.txt",
        "qrels-assessor-b.txt": "qrels-b.txt", "questions.jsonl": "questions.jsonl",
        "nuggets.jsonl": "nuggets.jsonl", "official_leaderboard.json": "official.json",
        "answers/gen-long.jsonl": "answers.jsonl", "answers/gen-short.jsonl": "answers-2.jsonl",
    }  # fmt: skip
    for source, name in copies.items():
        shutil.copy(demo / source, folder / name)
    shutil.copy(demo / "questions.jsonl", folder / "questions-2.jsonl")
    shutil.copytree(demo / "runs", folder / "runs")
    shutil.copy(demo / "runs" / "bm25.run", folder)
    (folder / "repeated.csv").write_text(
        "query_id,query,query_run,passage_id,passage,generated_answer\n"
        "q1,What are tides?,1,[1],Tides are waves.,Tides are waves [1].\n"
        "q1,What are tides?,2,[1],Tides are waves.,Tides are long waves [1].\n"
    )
    (folder / "repeated-scores.jsonl").write_text(
        '{"system": "repeated-run-1", "query_id": "q1", "metric": "V", "value": 0.5}\n'
        '{"system": "repeated-run-2", "query_id": "q1", "metric": "V", "value": 1.0}\n'
    )
    (folder / "panel.toml").write_text(
        "".join(f'[[grader]]\nmodel = "{name}"\nprompt_class = "{RATED}"\n' for name in ("lexical", "random"))
    )
    (folder / "families.toml").write_text('[t5]\nmodels = ["*flan-t5*"]\nsystems = ["dense-*"]\n')
    write_games_of(folder / "all.games.jsonl.gz", "judge", {"q1": ["bm25 gen-long B"]})
    write_games_of(folder / "games.jsonl", "gpt", {"007": ["gen-long gen-short A"]})
    write_games_of(folder / "human-games.jsonl", "human:ann", {"007": ["gen-long gen-short A"]})
    (folder / "queries.csv").write_text("qid,query\n0, What are tides?\n1, What is salt?\n")
    (folder / "answers.csv").write_text(
        "qid,agent,answer\n0, x,Waves [0].\n0, y,Long waves.\n1, x,A mineral.\n1, y,White.\n"
    )
    (folder / "documents.csv").write_text("qid,did,document\n0,0, Tides are waves.\n1,1,Salt is white.\n")
    (folder / "ratings.csv").write_text(
        "query_id,system,accuracy,style\n007,gen-long,2,1\n007,gen-short,1,1\n"
    )
    (folder / "rag.toml").write_text('[model]\nmodel = "fake"\n\n[nuggets]\ncreate = true\n')


def _gold_answers() -> None:
    """Of questions.jsonl."""
    bank = read_bank("questions.jsonl").lines
    for line in bank:
        line.items = [item.model_copy(update={"gold_answers": ["an answer"]}) for item in line.items]
    write_bank(bank, "questions-gold.jsonl")


def _classifier() -> None:
    """Of random weights."""
    pytest.importorskip("torch")
    from tests.llm.small_models import save_bert_classifier

    save_bert_classifier(Path("nli-model"), ["a b"] * 9 + ascii_letters.split(), ["entailment", "other"])


def _edits() -> None:
    """Of graded.jsonl.gz and questions.jsonl."""
    query, bank = next(read_passages("graded.jsonl.gz")), read_bank("questions.jsonl")
    entry, text = (
        next(iter(bank.entries(query.query_id))),
        query_text_of(query.query_id, query.query_text, bank),
    )
    name = next(query.passages[0].grade_sets()).prompt_class or ""
    keys = entry_keys(query.query_id, text, bank, [entry], scale_of(name, PROMPTS.find(name)))
    rated = {"query_id": query.query_id, "passage_id": query.passages[0].passage_id, "id": entry, "rating": 2}
    rated["key"] = f"{keys[entry]}:{passage_key(text, query.passages[0].text)}"
    reworded = BankEdit(op="reword", query_id=query.query_id, id=entry, text="What else is there to know?")
    write_edits(
        Edits(
            format="exam_pp.edits.v1",
            graded_sha256=file_sha256("graded.jsonl.gz"),
            bank_sha256=file_sha256("questions.jsonl"),
            reviewer="ana",
            ratings=[HumanRating.model_validate(rated)],
            bank=[reworded],
        ),
        "edits.json",
    )


def _game() -> None:
    """Of answers.jsonl.gz."""
    from exam_pp.plugins.games.page import open_games

    query = next(read_passages("answers.jsonl.gz"))
    game = next(open_games(query, seed=7))
    judged = Game(system_a=game.a.system, system_b=game.b.system, winner="B", decided_by="reply")
    games = QueryGames(query_id=query.query_id, game_sets=[GameSet(model=LARGE, games=[judged])])
    write_games([games], "games.jsonl.gz")


def _game_edits() -> None:
    """Of answers.jsonl.gz."""
    from exam_pp.plugins.games.page import open_games

    query = next(read_passages("answers.jsonl.gz"))
    game = next(open_games(query, seed=7))
    decided = {"query_id": query.query_id, "id": game.game_id, "winner": "A"}
    values = {"format": "exam_pp.edits.v1", "reviewer": "ana", "games": [decided]}
    write_edits(Edits.model_validate(values), "game-edits.json")


_COMMANDS = f"""
convert questions.jsonl --to bank-csv -o questions.csv
import --runs runs --texts passages.tsv --queries queries.jsonl --qrels qrels.txt --top 1 -o passages.jsonl.gz
convert passages.jsonl.gz --to candidates --system bm25 --queries queries.jsonl -o segments.jsonl
split passages.jsonl.gz --count 2 -o .
grade passages.jsonl.gz -o 1.gz --bank questions.jsonl --prompt {RATED} --model lexical
filter 1.gz --rename grader=lexical={LARGE} -o graded.jsonl.gz
canaries add 1.gz -o canaries.gz --bank questions.jsonl --canary query
grade canaries.gz -o graded-canaries.jsonl.gz --bank questions.jsonl --prompt {RATED} --model lexical
grade graded.jsonl.gz -o 2.gz --bank questions.jsonl --prompt {RATED} --model random
grade 2.gz -o 3.gz --bank questions.jsonl --prompt {EXTRACTED} --model lexical
filter 2.gz --rename grader=random=human:ana -o labelled-pairs.jsonl.gz
filter 3.gz --rename grader=lexical={LARGE} --rename grader=random={BASE} -o two-models.jsonl.gz
import --answers answers.jsonl --answers answers-2.jsonl --unit whole -o answers.jsonl.gz
apply answers.jsonl.gz ratings.csv --reviewer ann -o rated-answers.jsonl
grade answers.jsonl.gz -o assigned-2.jsonl.gz --bank nuggets.jsonl --prompt {ASSIGNED} --model random
grade answers.jsonl.gz -o assigned.jsonl.gz --bank nuggets.jsonl --prompt {ASSIGNED} --model lexical
import --runs runs --texts passages.tsv --top 20 --answers answers.jsonl --unit sentence -o cited.jsonl.gz
import --answers repeated.csv --unit sentence -o repeated.jsonl.gz
grade cited.jsonl.gz -o scored.jsonl.gz --prompt FactualConsistency --model fake
grade cited.jsonl.gz --prompt CitationSupport -o citations.jsonl.gz --model fake
grade cited.jsonl.gz --queries queries.jsonl --prompt RAGEloCriteria -o rated.jsonl.gz --model fake
show prompt RAGEloCriteria --format toml -o criteria.toml
generate queries passages.tsv --max-windows 3 -o generated.jsonl --model fake
grade passages.jsonl.gz -o labelled.jsonl.gz --queries queries.jsonl --prompt {DIRECT} --model lexical
grade answers.jsonl.gz -o attempted.jsonl.gz --queries queries.jsonl --prompt {ATTEMPT} --model lexical
evaluate cover graded.jsonl.gz --bank questions.jsonl --cutoff 5 --per-query --format tsv -o cover.tsv
evaluate qrels graded.jsonl.gz --runs runs -m nDCG@10 --per-query --format tsv -o ndcg.tsv
evaluate cover graded.jsonl.gz --bank questions.jsonl --per-query --format tsv -o cover-again.tsv
evaluate judgments qrels.txt --runs bm25.run -m nDCG@10 --per-query --format tsv -o baseline.tsv
evaluate judgments qrels.txt --runs runs/rerank.run -m nDCG@10 --per-query --format tsv -o new.tsv
sample-pairs graded.jsonl.gz --bank questions.jsonl --count 30 -o pairs.json
run --runs runs --texts passages.tsv --bank questions.jsonl --top 1 --model lexical -o study
"""


def _outputs(command: str) -> list[str]:
    """The files that a command makes."""
    if command.startswith("split"):
        return ["passages-1-of-2.jsonl.gz", "passages-2-of-2.jsonl.gz"]
    words = shlex.split(command)
    return [words[words.index("-o") + 1]]


_MAKERS: Mapping[str, str | Callable[[], None]] = {
    **{name: command for command in _COMMANDS.strip().splitlines() for name in _outputs(command)},
    "questions-gold.jsonl": _gold_answers,
    "nli-model": _classifier,
    "edits.json": _edits,
    "games.jsonl.gz": _game,
    "game-edits.json": _game_edits,
}


def chat(body: dict[str, Any], _count: int) -> Answer:
    """A reply of a chat model that every prompt can read."""
    del body
    return completion('["Which fact is told here?", "Which number is named here?"]')
