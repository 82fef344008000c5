"""Small valid files of every input format, and the commands that read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from scripts.command_tree import is_here

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


def _passage(
    query_id: str, key: str, ranks: dict[str, int], ratings: dict[str, int], relevance: int
) -> dict[str, Any]:
    grades = {
        "correctAnswered": [entry for entry, rating in ratings.items() if rating],
        "wrongAnswered": [entry for entry, rating in ratings.items() if not rating],
        "answers": [[entry, str(rating)] for entry, rating in ratings.items()],
        "llm_response_errors": {},
        "llm": "model",
        "llm_options": {},
        "exam_ratio": sum(map(bool, ratings.values())) / len(ratings),
        "prompt_info": {"prompt_class": RATED, "is_self_rated": True},
        "self_ratings": [{"question_id": entry, "self_rating": rating} for entry, rating in ratings.items()],
        "prompt_type": "question",
        "relevance_label": max(ratings.values()),
    }
    human = {**grades, "llm": "human:ana", "answers": []}
    direct = {
        "correctAnswered": True,
        "answer": "Yes",
        "llm": "model",
        "prompt_info": {"prompt_class": "Sun"},
    }
    return {
        "paragraph_id": key,
        "text": f"Text of {key}: yeast rises.",
        "paragraph_data": {
            "judgments": [
                {"paragraphId": key, "query": query_id, "relevance": relevance, "titleQuery": query_id}
            ],
            "rankings": [
                {"method": name, "paragraphId": key, "queryId": query_id, "rank": rank, "score": 9.5 - rank}
                for name, rank in ranks.items()
            ],
        },
        "exam_grades": [grades, human],
        "grades": [direct],
        "mine": [1, {"two": None}],
    }


_GRADED = [
    ["q1", [_passage("q1", "p1", {"a": 1, "b": 2}, {"q1/a": 5, "q1/b": 0}, 3),
            _passage("q1", "p2", {"a": 2, "b": 1}, {"q1/a": 1, "q1/b": 4}, 0)]],
    ["007", [_passage("007", "p3", {"a": 1, "b": 1}, {"007/a": 2}, 1)]],
]  # fmt: skip


def _bank_line(query_id: str, *keys: str) -> dict[str, Any]:
    items = [
        {"query_id": query_id, "question_id": f"{query_id}/{key}", "question_text": f"What is {key}?",
         "gold_answers": ["yeast"]}
        for key in keys
    ]  # fmt: skip
    return {"query_id": query_id, "test_collection": "c", "query_text": "a query", "items": items}


def _lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def _rag(run: str) -> dict[str, Any]:
    parts = [{"text": "One.", "citations": [0]}, {"text": "Two.", "citations": []}]
    return {"run_id": run, "topic_id": "q1", "topic": "a query", "references": ["p1"], "answer": parts}


_SQUAD_QUESTION = {
    "id": "s1",
    "question": "What rises?",
    "is_impossible": False,
    "answers": [{"text": "dough"}],
}
_TQA_QUESTION = {
    "beingAsked": {"processedText": "What rises?"},
    "correctAnswer": {"processedText": "a"},
    "answerChoices": {"a": {"processedText": "dough"}},
}


def _part(passage_id: str, rank: int, *supports: dict[str, str]) -> dict[str, Any]:
    """A part of an answer that cites two passages, with the support of its citations."""
    system = passage_id.partition("/")[0]
    entry = {"method": system, "paragraphId": passage_id, "queryId": "q1", "rank": rank, "score": 1.0}
    entry |= {"role": "answer", "citations": ["p1", "gone"]}
    grades = {"supports": [*supports], "llm": "m", "prompt_info": {"prompt_class": "CitationSupport"}}
    return {
        "paragraph_id": passage_id,
        "text": "Dough rises.",
        "paragraph_data": {"judgments": [], "rankings": [entry]},
        "support_grades": [grades],
    }


_RATINGS = {
    "method": "a",
    "ratings": [
        {"criterion": "relevance", "rating": 2},
        {"criterion": "accuracy", "rating": None, "llm_response_error": {"failure_reason": "no key"}},
    ],
    "answer": '{"relevance": 2}',
    "llm": "m",
    "prompt_info": {"prompt_class": "RAGEloCriteria", "criteria": {"relevance": 2, "accuracy": 2}},
    "prompt_type": "criteria",
}
"""Ratings of the answer of the system a by criteria."""


def _rated(query_id: str, system: str, rating: int) -> dict[str, Any]:
    """The answer of a system, with ratings by a model and a person."""
    passage_id = f"{system}/{query_id}"
    entry = {"method": system, "paragraphId": passage_id, "queryId": query_id, "rank": 1, "score": 1.0}
    data = {"judgments": [], "rankings": [entry | {"role": "answer"}]}
    ratings = [{"criterion": "relevance", "rating": rating}, {"criterion": "accuracy", "rating": 1}]
    model = _RATINGS | {"method": system, "ratings": ratings}
    person = model | {"llm": "human:ann", "ratings": [{"criterion": "relevance", "rating": 2 - rating}]}
    return {"paragraph_id": passage_id, "text": "It rises.", "paragraph_data": data,
            "criteria_grades": [model, person]}  # fmt: skip


_CITED = [
    "q1",
    [
        {"paragraph_id": "p1", "text": "Yeast makes dough rise."},
        _part("a/q1#1", 1, {"citation": "p1", "support": "full_support", "answer": "full_support"})
        | {"criteria_grades": [_RATINGS]},
        _part("a/q1#2", 2, {"citation": "p1", "support": "no_support"}),
        _part("b/q1#1", 1, {"citation": "p1", "support": "partial_support"}),
        _part("c/q1#1", 1, {"citation": "p1", "support": "no_support"}),
    ],
]


def _answer(system: str, text: str) -> dict[str, Any]:
    passage_id = f"{system}/q1"
    ranking = {"method": system, "paragraphId": passage_id, "queryId": "q1", "rank": 1, "score": 1.0,
               "role": "answer"}  # fmt: skip
    data = {"judgments": [], "rankings": [ranking]}
    return {"paragraph_id": passage_id, "text": text, "paragraph_data": data}


def _reasoned(key: str, rank: int) -> dict[str, Any]:
    """A document of the system one, with a direct grade and its reason."""
    ranking = {"method": "one", "paragraphId": key, "queryId": "q1", "rank": rank, "score": 1.0}
    grade = {"correctAnswered": True, "answer": "Very relevant: dough.", "self_rating": 2, "llm": "model",
             "prompt_info": {"prompt_class": "RAGEloReasoner"}, "prompt_type": "direct"}  # fmt: skip
    return {
        "paragraph_id": key,
        "text": "Dough.",
        "paragraph_data": {"rankings": [ranking]},
        "grades": [grade],
    }


_COMPARED = ["q1", [_answer("one", "It rises."), _answer("two", "It rises and falls.")]]


def _decisions() -> str:
    """Edits with the game between the answers of compared.jsonl, whose id is a hash."""
    decision = {"query_id": "q1", "id": "69a23426754db40803d7", "winner": "A"}
    return json.dumps({"format": "exam_pp.edits.v1", "reviewer": "bea", "games": [decision]}) + "\n"


GOOD: dict[str, str] = {
    "cited.jsonl": _lines(_CITED),
    "rated.jsonl": _lines(
        *[[query_id, [_rated(query_id, "a", 2), _rated(query_id, "b", 0)]] for query_id in ("q1", "007")]
    ),
    "graded.jsonl": _lines(*_GRADED),
    "other.jsonl": _lines(*_GRADED),
    "bank.jsonl": _lines(_bank_line("q1", "a", "b"), _bank_line("007", "a")),
    "queries.tsv": "q1\ta query\n007\tanother\n",
    "queries.json": '{"q1": "a query", "007": "another"}\n',
    "queries.jsonl": _lines(
        {"query_id": "q1", "query_text": "a query"}, {"query_id": "007", "query_text": "another"}
    ),
    "topics.xml": "<topics><topic number='q1'><title>a query</title></topic></topics>\n",
    "texts.tsv": "p1\tText of p1.\np2\tText of p2.\n",
    "texts.jsonl": _lines({"docid": "p1", "text": "Text of p1."}, {"docid": "p2", "text": "Text of p2."}),
    "qrels.txt": "q1 0 p1 3\nq1 0 p2 0\n",
    "runs/a.run": "q1 Q0 p1 1 2.0 a\nq1 Q0 p2 2 1.0 a\n",
    "runs/b.run": "q1 Q0 p2 1 2.0 b\nq1 Q0 p1 2 1.0 b\n",
    "board.tsv": "system\tnDCG@10\na\t0.9\nb\t0.5\nc\t0.1\n",
    "official.json": '{"a": 1, "b": 2.5, "c": 2.5}\n',
    "official.tsv": "a\t1\nb\t2\nc\t3\n",
    "bank_edits.json": json.dumps(
        {"format": "exam_pp.edits.v1", "reviewer": "ana",
         "bank": [{"op": "remove", "query_id": "q1", "id": "q1/a", "reason": "unclear"}]}
    ) + "\n",
    "ratings.json": json.dumps(
        {"format": "exam_pp.edits.v1", "reviewer": "bea",
         "ratings": [{"query_id": "q1", "passage_id": "p1", "id": "q1/a", "rating": 3}]}
    ) + "\n",
    "pairs.json": json.dumps(
        {"format": "exam_pp.pair-sample.v2", "graded_sha256": "0" * 64, "model": "model",
         "prompt_class": RATED, "by": "even", "seed": 23, "cutoff": 20,
         "population": {"q1": [{"passages": ["p1", "p2"], "entries": ["q1/a", "q1/b"]}],
                        "007": [{"passages": ["p3"], "entries": ["007/a"]}]},
         "lowest_probability": 0.5,
         "pairs": [{"query_id": "q1", "passage_id": "p1", "id": "q1/a", "probability": 0.5}]}
    ) + "\n",
    "compared.jsonl": _lines(_COMPARED),
    "reasoned.jsonl": _lines(["q1", [*_COMPARED[1], _reasoned("p1", 1), _reasoned("p2", 2)]]),
    "judged-games.jsonl": _lines(
        {"query_id": "q1", "query_text": "a query", "game_sets": [
            {"llm": "m", "games": [{"system_a": "two", "system_b": "one", "winner": "A"}]}
        ]}
    ),
    "decisions.json": _decisions(),
    "answers.jsonl": _lines(
        _rag("one"), _rag("two"), {"query_id": "007", "system": "three", "text": "A. B."}
    ),
    "nuggets.jsonl": _lines(
        {"qid": "q1", "query": "a query", "nuggets": [{"text": "It rises.", "importance": "vital"}]}
    ),
    "candidates.jsonl": _lines(
        {"query": {"qid": "q1", "text": "a query"},
         "candidates": [{"docid": "p1", "score": 2.0, "judgment": 1, "doc": {"segment": "Text of p1."}}]}
    ),
    "assignments.jsonl": _lines(
        {"query": "a query", "qid": "q1", "answer_text": "It rises.", "response_length": 2, "run_id": "one",
         "nuggets": [{"text": "It rises.", "importance": "vital", "assignment": "support"}]}
    ),
    "pages.jsonl": _lines(
        {"run_id": "one", "squid": "q1", "title": "a query",
         "query_facets": [{"heading_id": "q1/f", "heading": "a facet"}],
         "paragraphs": [{"para_id": "p1", "para_body": [{"text": "Text of p1."}]}],
         "paragraph_origins": [{"para_id": "p1", "section_path": "q1/f", "rank": 1, "rank_score": 2.0}]}
    ),
    "published.tsv": "min_rating = 4\n\nmethod\texam\t+/-\texam-std\none\t0.5\t+/-\t0.1\nspearman\t0.9\n",
    "eval.txt": "one q1 F1 0.5\ntwo q1 F1 0.25\none all F1 0.5\ntwo all F1 0.25\n",
    "genq.json": json.dumps({"q1": {"f": {"title": "a query", "facet": "f", "questions": ["1. What?"]}}}),
    "squad.json": json.dumps(
        {"data": [{"title": "b", "paragraphs": [{"context": "The dough rises.", "qas": [_SQUAD_QUESTION]}]}]}
    ),
    "tqa.json": json.dumps(
        [{"globalID": "L1", "questions": {"nonDiagramQuestions": {"NDQ_1": _TQA_QUESTION}}}]
    ),
    "autojudge.json": _lines(
        {"query_id": "q1", "title_query": "a query", "format_version": "v3",
         "nugget_bank": {"What rises?": {"question": "What rises?", "answers": {"d": {"answer": "dough"}}}},
         "claim_bank": {}}
    ),
    "bank.csv": "query_id,query_text,kind,id,text,weight\nq1,a query,question,q1/a,What is a?,1.0\n",
    "ragelo_queries.csv": "qid,query\nq1, a query\n007,another\n",
    "ragelo_documents.csv": 'qid,did,document,agent\nq1,p1,"Text, of p1.",one\nq1,p2,Text of p2.,\n',
    "ragelo_reasonings.csv": "qid,did,raw_answer,answer\nq1,p1,Very relevant: all.,Very relevant: all.\n"
    "q1,p2,No idea.,\n",
    "ragelo_games.csv": "qid,agent_a,agent_b,raw_answer,answer,relevance\nq1,one,two,So [[A]],A,\n",
    "ragelo_games.jsonl": _lines(
        {"qid": "q1", "agent_a": "one", "agent_b": "two", "evaluator_name": "pairwise", "exception": None,
         "raw_answer": "{}", "answer": {"winner": "C", "differences": "None."}}
    ),
    "all.games.jsonl": _lines(
        {"query_id": "q1", "query_text": "a query", "game_sets": [
            {"llm": "model", "prompt_info": {"prompt_class": "Pairwise"}, "games": [
                {"system_a": "a", "system_b": "b", "winner": "A", "order": 1, "decided_by": "reply",
                 "words_a": 3, "words_b": 4, "answer": "So [[A]]"},
                {"system_a": "b", "system_b": "a", "winner": "C", "order": 2, "decided_by": "reply",
                 "words_a": 4, "words_b": 3, "answer": "So [[C]]"},
                {"system_a": "d", "repeat_a": 1, "system_b": "c", "winner": None,
                 "llm_response_error": {"failure_reason": "no verdict", "response": "None."}},
            ]},
            {"llm": "human:ana",
             "games": [{"system_a": "a", "system_b": "b", "winner": "B", "comment": "x"}]},
        ]},
        {"query_id": "007", "game_sets": [{"games": [{"system_a": "a", "system_b": "b", "winner": "B"}]}]},
    ),
    "ratings.csv": "query_id,system,relevance,accuracy,comment\nq1,a,2,1,misses a limit\nq1,b,1,,\n",
    "criteria.toml": 'name = "Advice"\nsubject = "tenancy law"\n\n[[criteria]]\nname = "correctness"\n'
    'description = "Is it right?"\nlevels = ["No.", "In part.", "Yes."]\n',
    "board.tsv.manifest.json": json.dumps(
        {"format": "exam_pp.manifest.v1", "exam_pp": "0.2.0", "command": "evaluate cover",
         "output": {"path": "board.tsv", "size": 1, "sha256": "0" * 64, "parameter": "--output"},
         "options": [{"name": "--cutoff", "value": 20, "default": True}],
         "inputs": [{"path": "graded.jsonl", "size": 1, "sha256": "1" * 64, "parameter": "GRADED"}],
         "report": {"cutoff": 20}, "python": "3.11.0", "platform": "Linux x86_64", "packages": {}}
    ) + "\n",
    "families.toml": '[gpt]\nmodels = ["model", "gpt-*"]\nsystems = ["b*"]\n\n[llama]\nsystems = ["c"]\n',
    "panel.toml": f'[[grader]]\nmodel = "fake"\nprompt_class = "{RATED}"\n\n'
    f'[[grader]]\nmodel = "random"\nprompt_class = ["{RATED}"]\nsoft = false\n',
    "families.json": '{"gpt": {"models": ["mod?l"], "systems": ["b*"]}, "llama": {"systems": ["c"]}}\n',
    "kinds.jsonl": _lines(
        {"query_id": "q1", "query_text": "a query", "kind": "short"},
        {"query_id": "007", "query_text": "another", "kind": "long"},
    ),
    "open_rag_eval.csv": "query_id,query,query_run,passage_id,passage,generated_answer\n"
    "q1,a query,1,[1],Text of p1.,It rises [1].\nq1,a query,1,[2],Text of p2.,\n",
    "open_rag_eval_scores.csv": "query_id,query,retrieval_score_mean_umbrela_score\nq1,a query,2.5\n",
    "ragelo_answers.csv": 'qid,agent,answer\nq1, one,"A, says [0]."\nq1,two,B.\n',
    "prompt.toml": 'name = "Mine"\nkind = "question"\ntemplate = "{question} {context}"\nscale = 5\n'
    'reading = "rating"\n',
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A command that reads a file, and its output. ``{}`` in the command is replaced by the file name.

    ``keeps`` says that the output must contain all data of the file.
    """

    file: str
    command: str
    output: str = "out"
    keeps: bool = False


_SET = "--grader model --grades type=question"
_GRADED_COMMANDS = (
    f"evaluate cover {{}} {_SET} -o out",
    f"evaluate cover {{}} --bank bank.jsonl {_SET} -o out",
    "evaluate corrected {} --bank bank.jsonl --pairs pairs.json --reviewer human:ana -o out",
    "evaluate corrected {} --bank bank.jsonl --pairs pairs.json --reviewer ana -m pair-share -o out",
    f"evaluate qrels {{}} {_SET} -o out",
    f"evaluate qrels {{}} {_SET} --runs runs -o out",
    "evaluate judgments {} --runs runs -o out",
    f"verify grading {{}} --bank bank.jsonl {_SET} -o out",
    f"verify spurious {{}} --bank bank.jsonl {_SET} -o out",
    f"verify grid {{}} --bank bank.jsonl {_SET} -o out",
    f"verify uncovered {{}} --bank bank.jsonl {_SET} -o out",
    f"verify disagreements {{}} --bank bank.jsonl {_SET} -o out",
    f"verify unparsed {{}} --bank bank.jsonl {_SET} -o out",
    f"sample-pairs {{}} --bank bank.jsonl --count 2 {_SET} -o out",
    f"review {{}} --bank bank.jsonl --pairs pairs.json --force {_SET} -o out",
    f"bank clinic {{}} --bank bank.jsonl {_SET} -o out",
    f"analyze agreement {{}} {_SET} -o out",
    f"analyze graders {{}} --prompt {RATED} -o out",
    f"analyze panel {{}} --bank bank.jsonl --prompt {RATED} -o out",
    "analyze panel {} --rule mean --format html -o out",
    f"diff {{}} other.jsonl {_SET} -o out",
    f"reread {{}} {_SET} -o out",
    "filter {} --only judged --system a -o out",
    "sample {} --max-passages 1 --by judgment=equal -o out",
    "filter {} --remove texts --remove replies --remove human -o out",
    "split {} -n 1 -o out",
    "validate {} -o out",
    "convert {} --from graded --to run -o out",
    "convert {} --from graded --to qrels -o out",
    "query {} 'select query_id, count(*) from grades group by all order by all' -o out",
)
_KEEPING_COMMANDS = (
    "canaries add {} --bank bank.jsonl -o out",
    "merge {} -o out",
    "merge {} other.jsonl -o out",
    "filter {} --rename system=a=z -o out",
    "convert {} --from graded --to graded -o out",
    f"grade {{}} --bank bank.jsonl --model fake --prompt {RATED} -o out",
    "apply {} ratings.json --force -o out",
    "consensus {} -o out",
    "grade-panel {} --config panel.toml --bank bank.jsonl -o out",
)
# File, its format, target format.
_CONVERSIONS = (
    ("nuggets.jsonl", "nuggetizer", "bank"),
    ("autojudge.json", "autojudge-bank", "bank"),
    ("bank.jsonl", "bank", "bank-csv"),
    ("answers.jsonl", "rag24", "plain-answers"),
    ("candidates.jsonl", "candidates", "graded"),
    ("published.tsv", "leaderboard", "scores-jsonl"),
    ("assignments.jsonl", "nuggetizer-assignments", "graded"),
    ("eval.txt", "autojudge-eval", "leaderboard"),
    ("board.tsv", "leaderboard", "official-json"),
    ("official.tsv", "official-tsv", "official-json"),
    ("qrels.txt", "qrels", "qrels"),
    ("queries.tsv", "queries-tsv", "queries-jsonl"),
    ("topics.xml", "topics", "queries-json"),
    ("runs/a.run", "run", "run"),
    ("ragelo_queries.csv", "ragelo-queries", "queries-jsonl"),
    ("ragelo_documents.csv", "ragelo-documents", "graded"),
    ("ragelo_answers.csv", "ragelo-answers", "rag25"),
    ("ragelo_reasonings.csv", "ragelo-reasonings", "graded"),
    ("ragelo_games.csv", "ragelo-games", "ragelo-games-jsonl"),
    ("ragelo_games.jsonl", "ragelo-games-jsonl", "games"),
    ("all.games.jsonl", "games", "ragelo-games-jsonl"),
    ("open_rag_eval.csv", "open-rag-eval", "rag24"),
    ("open_rag_eval.csv", "open-rag-eval-passages", "graded"),
    ("open_rag_eval_scores.csv", "open-rag-eval-scores", "scores-jsonl"),
    ("bank.csv", "bank-csv", "bank"),
)

_CITED_COMMANDS = (
    "evaluate answers {} --metric citations -o out",
    "evaluate answers {} --metric criteria -o out",
    "verify citations {} -o out",
    "filter {} --remove replies --remove prompts -o out",
    "validate {} -o out",
    "query {} 'select support, count(*) from supports group by all order by all' -o out",
)

_GAMES_COMMANDS = (
    "filter {} --system a --grader model -o out",
    "filter {} --remove replies --remove texts --remove human -o out",
    "validate {} -o out",
    "query {} 'select winner, count(*) from games group by all order by all' -o out",
    "evaluate elo {} --grader model --elo tournaments=3 -S samples=100 -o out",
    "evaluate elo {} --grader model -m bradley-terry --head-to-head -S samples=100 --format html -o out",
    "analyze audit {} -o out",
    "analyze audit {} --families families.toml --format tsv -o out",
)
_GAMES_KEEPING_COMMANDS = (
    "merge {} -o out",
    "filter {} --rename system=c=z -o out",
    "convert {} --from games --to games -o out",
)

_COMPARE = "compare compared.jsonl --queries queries.tsv --model fake -o out"
# File, command, whether the output contains all data of the file.
_TOURNAMENT_COMMANDS = (
    ("ragelo_games.csv", "evaluate elo {} --elo tournaments=3 -S samples=100 -o out", False),
    ("ragelo_games.jsonl", "evaluate elo {} --elo tournaments=3 -S samples=100 -o out", False),
    ("board.tsv", "evaluate elo all.games.jsonl --grader model --elo tournaments=3 "
     "--official {} -o out", False),
    ("families.toml", "analyze audit all.games.jsonl --families {} -o out", False),
    ("families.json", "analyze audit all.games.jsonl --families {} -o out", False),
    ("compared.jsonl", "compare {} --queries queries.tsv --model fake --both-orders -o out", False),
    ("compared.jsonl", "compare {} --queries queries.tsv --model fake -o out", False),
    ("reasoned.jsonl", "compare {} --queries queries.tsv --model fake --evidence both --min-judgment 1 "
     "--both-orders -o out", False),
    ("queries.tsv", "compare compared.jsonl --queries {} --model fake -o out", False),
    ("judged-games.jsonl", f"{_COMPARE} --games {{}}", False),
    ("all.games.jsonl", f"{_COMPARE} --games {{}}", False),
    ("all.games.jsonl", "apply compared.jsonl decisions.json --games {} -o out", True),
    ("cited.jsonl", "apply {} ratings.csv --reviewer ann -o out", True),
    ("rated.jsonl", "analyze distributions {} --grader m -o out", False),
    ("rated.jsonl", "analyze graders {} --by criterion -S samples=100 --format html -o out", False),
    ("ratings.csv", "apply cited.jsonl {} --reviewer ann -o out", False),
    ("criteria.toml", "grade cited.jsonl --queries queries.tsv --prompt-file {} --model fake -o out",
     False),
    ("queries.tsv", "grade cited.jsonl --queries {} --prompt criteria --model fake -o out",
     False),
    ("texts.tsv", "generate queries {} --model fake -o out", False),
    ("texts.jsonl", "generate queries {} --model fake -o out", False),
    ("graded.jsonl", "generate queries {} --model fake -o out", False),
    ("kinds.jsonl", "generate queries texts.tsv --pool {} --model fake -o out", True),
    ("queries.tsv", "generate queries texts.tsv --queries {} --model fake -o out", False),
    ("kinds.jsonl", "sample {} --by kind=short:1,long:1 -o out", False),
    ("runs/a.run", "fuse {} runs/b.run -o out", False),
    ("eval.txt", "evaluate elo {} --by F1 --elo tournaments=3 -S samples=100 -o out", False),
    ("eval.txt", "gate {0} {0} -m F1 --system one --system two --max-drop 9 --undecided pass -o out", False),
)  # fmt: skip

_TARGETS: tuple[Target, ...] = (
    *(Target("all.games.jsonl", command) for command in _GAMES_COMMANDS),
    *(Target("all.games.jsonl", command, keeps=True) for command in _GAMES_KEEPING_COMMANDS),
    *(Target(file, command, keeps=keeps) for file, command, keeps in _TOURNAMENT_COMMANDS),
    *(Target("cited.jsonl", command) for command in _CITED_COMMANDS),
    Target("board.tsv.manifest.json", "show manifest {} -o out"),
    Target("board.tsv.manifest.json", "validate {} -o out"),
    Target("cited.jsonl", "filter {} --rename grader=m=n -o out"),
    Target("cited.jsonl", "grade {} --prompt citation-support --model fake -o out", keeps=True),
    Target(
        "cited.jsonl",
        "grade {} --queries queries.tsv --prompt criteria --model fake -o out",
        keeps=True,
    ),
    *(Target("graded.jsonl", command) for command in _GRADED_COMMANDS),
    *(Target("graded.jsonl", command, keeps=True) for command in _KEEPING_COMMANDS),
    *(Target(file, f"convert {{}} --from {old} --to {new} -o out") for file, old, new in _CONVERSIONS),
    Target("bank.jsonl", f"evaluate cover graded.jsonl --bank {{}} {_SET} -o out"),
    Target("bank.jsonl", "canaries add graded.jsonl --bank {} -o out"),
    Target("bank.jsonl", "bank show {} -o out"),
    Target("bank.jsonl", "bank show {} --only problems -o out"),
    Target("bank.jsonl", "bank show {} --only counts -o out"),
    Target("bank.jsonl", "merge {} -o out"),
    Target("bank.jsonl", "convert {} --to bank-csv -o out"),
    Target("bank.jsonl", "bank apply {} bank_edits.json --force -o out"),
    Target("bank.jsonl", f"grade graded.jsonl --bank {{}} --model fake --prompt {RATED} -o out"),
    Target("queries.tsv", "import --runs runs --texts texts.tsv --queries {} -o out"),
    Target("queries.json", f"evaluate cover graded.jsonl {_SET} --queries {{}} -o out"),
    Target("queries.jsonl", "generate questions {} --model fake -o out"),
    Target("texts.tsv", "import --runs runs --texts {} -o out"),
    Target("texts.jsonl", "import --runs runs --texts {} -o out"),
    Target("qrels.txt", "import --runs runs --texts texts.tsv --qrels {} -o out"),
    Target("qrels.txt", "evaluate judgments {} --runs runs -o out"),
    Target("runs/a.run", "import --runs runs --texts texts.tsv -o out"),
    Target("runs/a.run", "evaluate judgments qrels.txt --runs runs -o out"),
    Target("board.tsv", "analyze correlation {} --official official.json -o out"),
    Target("official.json", "analyze correlation board.tsv --official {} -o out"),
    Target("official.tsv", "analyze correlation board.tsv --official {} -o out"),
    Target("bank_edits.json", "bank apply bank.jsonl {} --force -o out"),
    Target("ratings.json", "apply graded.jsonl {} --force -o out"),
    Target("pairs.json", "evaluate corrected graded.jsonl --pairs {} --reviewer human:ana -o out"),
    Target("pairs.json", f"review graded.jsonl --bank bank.jsonl --pairs {{}} --force {_SET} -o out"),
    Target("pairs.json", "validate {} -o out"),
    Target("compared.jsonl", "apply {} decisions.json -o out"),
    Target("compared.jsonl", "review-games {} --queries queries.tsv -o out"),
    Target("decisions.json", "apply compared.jsonl {} -o out"),
    Target("judged-games.jsonl", "review-games compared.jsonl --games {} -o out"),
    Target("judged-games.jsonl", "apply compared.jsonl decisions.json --games {} -o out"),
    Target("answers.jsonl", "import --answers {} -o out"),
    Target("pages.jsonl", "import --from car-pages {} --facets keep -o out"),
    Target("nuggets.jsonl", "bank import --from nuggetizer {} -o out"),
    Target("genq.json", "bank import --from genq {} -o out"),
    Target("squad.json", "bank import --from squad2 {} -o out"),
    Target("tqa.json", "bank import --from tqa {} -o out"),
    Target("autojudge.json", "bank import --from autojudge {} -o out"),
    Target("bank.csv", "bank import --from csv {} -o out"),
    Target("panel.toml", "grade-panel graded.jsonl --config {} --bank bank.jsonl -o out"),
    Target(
        "families.toml",
        f"analyze audit graded.jsonl --bank bank.jsonl --families {{}} {_SET} -S samples=100 -o out",
    ),
    Target("prompt.toml", "grade graded.jsonl --bank bank.jsonl --model fake --prompt-file {} -o out"),
)


@cache
def targets() -> tuple[Target, ...]:
    """The files and commands that are here, of all plug-ins."""
    return tuple(target for target in _TARGETS if is_here(target.command.replace("{}", target.file)))


def lay_out(folder: Path) -> None:
    """Write the valid files."""
    for name, content in GOOD.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
