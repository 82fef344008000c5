"""Benchmark of graders for the cards of the judges: agreement with GPT-4 and with judges.

Usage: python scripts/bench/graders.py [--models lexical,random,constant] [--sample N]
                                       [--shared FOLDER] [--threads N] [--greedy]
       python scripts/bench/graders.py --models smollm2,lexical --queries 3 --sample 12 --only-ratings
       python scripts/bench/graders.py --models e5,lexical --cards --sample 12 --threads 1

Prints Markdown tables. The data sets are not part of the project (see the README of the shared folder):

* TREC DL 2019, 92,592 pairs of passage and question with GPT-4's ratings: agreement with these ratings
  (Spearman, quadratic weighted kappa) and with manual judgments (area under the curve of a passage's mean
  rating against relevance >= 2, averaged over queries), and correlation of the ranking of the six runs by
  Rubric-Cover@20 and by nDCG@10 on Rubric-Qrels with their ranking by manual judgments (nDCG@10). The row
  "gpt-4" uses the ratings of the file.
* SQuAD2 sample: token F1 of answers to answerable questions, and accuracy of "answerable or not".
* REALSumm: area under the curve of nugget ratings against human labels (nugget, i.e. SCU, in the summary).
* TREC RAG 2024: agreement of pointwise nugget assignments for whole answers with the labels of a large model.

With `--soft`, local models with a checkpoint also give soft grades; a table has their agreement and mass.

`--sample N` draws N passages of each DL query (seeded), and every N-th topic of TREC RAG; leaderboards are
then based on few passages and not meaningful. `--queries N` draws N of the DL queries. With
`--choose`, models with a checkpoint also grade the DL passages by choice (`grade --choose`), and calibrated
(`--calibrate`); a table has the agreement of the chosen ratings with the written ones.

With `--cards`, it prints the figures of the cards (`exam_pp/judges.py`) instead, with 95 % intervals as
exam-pp gives them (areas: Gaffke's bound of the mean over queries; others: bootstrap over queries):
agreement on DL 2019, and for judges by similarity the agreement of grades whose cut points were fitted to
GPT-4's grades on half of the queries, on the other half (20 splits); the area under the curve with people
on LLMJudge, where the question is the text of the query, and on the demo; pairs per CPU second; and the
replies that change if requests are sent again in reverse order, one at a time.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import string
import sys
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from scipy.stats import spearmanr

from exam_pp import records
from exam_pp.banks import ASSIGNMENT_LABELS, LABEL_RATINGS, TestBank
from exam_pp.data_model import Passage, QueryPassages, RubricGrades
from exam_pp.errors import ExamError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.judges import E5
from exam_pp.llm import LLM, ModelOptions, load_llm
from exam_pp.llm_requests import Completion, Request, cosine_in
from exam_pp.metrics.agreement import area_under_curve, weighted_kappa
from exam_pp.metrics.correlation import Correlation, correlate, ranks_of
from exam_pp.metrics.cover import Cover
from exam_pp.metrics.grade_masks import GradedFile, gather
from exam_pp.metrics.leaderboard import standings
from exam_pp.metrics.qrels import judgment_qrels, rubric_qrels
from exam_pp.metrics.uncertainty import mean_interval
from exam_pp.phases.evaluation.score_runs import score_runs
from exam_pp.phases.grading.grade import GradeOptions, grade
from exam_pp.phases.grading.grading_run import resolve_options
from exam_pp.prompts.nuggets import NUGGET_ASSIGNMENT_POINTWISE
from exam_pp.prompts.rubric import NUGGET_SELF_RATED, QUESTION_EXTRACTION, QUESTION_SELF_RATED
from exam_pp.rendering.document import Cell, Report, Table
from exam_pp.rendering.render import render
from exam_pp.results import OVERALL_SYSTEM, Qrel, Score
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages

MODELS = "lexical,random,constant"
WITHOUT_LIMIT = [*MODELS.split(","), E5]
"""Models without a checkpoint of the user: their replies have no limit to set, and they cannot choose."""
SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
SEED = 19
MEASURE = "nDCG@10"
MIN_GRADES = (1, 2, 3, 4, 5)
RELEVANT = 2

log = logging.getLogger("graders")

Value = TypeVar("Value", int, float)


# --- asking ---------------------------------------------------------------------------------------


@dataclass
class Clock:
    """Answers requests with a model, and measures requests per second."""

    llm: LLM
    pairs: int = 0
    seconds: float = 0.0

    def __call__(self, requests: Sequence[Request]) -> list[Completion]:
        """The completions, in the order of the requests."""
        keys = [request.key() for request in requests]
        unique = dict(zip(keys, requests, strict=True))
        start = time.process_time()
        replies = dict(self.llm.generate([*unique.values()]))
        self.seconds += time.process_time() - start
        self.pairs += sum(request.pairs for request in requests)
        log.info("%s: %d pairs, %.1f a CPU second", self.llm.name, self.pairs, self.pairs / self.seconds)
        positions = {key: index for index, key in enumerate(unique)}
        return [replies[positions[key]] for key in keys]


# --- TREC DL 2019 -----------------------------------------------------------------------------------


@dataclass
class Collection:
    """The judged passages of DL 2019 with GPT-4's grades; ``human``: scores of the runs by judgments."""

    queries: list[QueryPassages]
    bank: TestBank
    runs: Path
    human: dict[str, float]


@dataclass
class Ratings:
    """The results of a grader on the collection."""

    name: str
    spearman: float | None
    kappa: float | None
    area: float | None
    cover: dict[int, Correlation]
    qrels: Correlation
    used: Counter[int]
    ungraded: float = 0.0
    speed: float | None = None
    by_pair: dict[tuple[str, str, str], int] = field(default_factory=dict)
    soft: SoftRatings | None = None


@dataclass
class SoftRatings:
    """Agreement of the expected ratings, as that of the ratings, and the mean mass of the scale's labels."""

    spearman: float | None
    area: float | None
    mass: float


def read_collection(shared: Path, sample: int | None, max_queries: int | None = None) -> Collection:
    folder = shared / "dl19-gpt4"
    queries = list(read_passages(folder / "dl19-graded.jsonl.gz"))
    human = run_scores(judgment_qrels(queries), folder / "runs")
    draw = Random(SEED)
    if max_queries is not None:
        queries = draw.sample(queries, min(max_queries, len(queries)))
    if sample is not None:
        for query in queries:
            query.passages = draw.sample(query.passages, min(sample, len(query.passages)))
    return Collection(queries, read_bank(folder / "dl19-gpt4-questions.jsonl.gz"), folder / "runs", human)


def run_scores(qrels: Iterable[Qrel], runs: Path) -> dict[str, float]:
    """System to mean nDCG@10."""
    return means(score_runs(qrels, runs, [MEASURE]).scores)


def means(scores: Iterable[Score]) -> dict[str, float]:
    return {row.system: row.mean for row in standings(scores) if row.system != OVERALL_SYSTEM}


def rate(
    data: Collection,
    name: str,
    answer: Clock | None,
    model: ModelOptions | None = None,
    soft: bool = False,
    calibrate: bool = False,
) -> Ratings:
    """Grade the collection and compare; without ``answer``, use the grades of the file."""
    queries = data.queries
    if answer is not None:
        soft_grades = None if model and model.choose else soft
        options = GradeOptions([QUESTION_SELF_RATED], soft=soft_grades, calibrate=calibrate)
        if model is not None:
            options = resolve_options(options, answer.llm, model)
        copies = (QueryPassages(q.query_id, [records.replace(p) for p in q.passages]) for q in queries)
        queries = list(grade(copies, data.bank, answer, model=name, provenance={}, options=options))
    selector = GradeSelector(GradeFilter(model=name))
    file = gather(queries, selector, data.bank)
    by_pair: dict[tuple[str, str, str], int] = {}
    asked = 0
    for query in queries:
        for passage in query.passages:
            ratings = selector.ratings(passage)
            by_pair |= {(query.query_id, passage.passage_id, key): value for key, value in ratings.items()}
            asked += len(data.bank.entries(query.query_id))
    ours, theirs, area = compare(queries, selector.ratings)
    same = answer is None
    spearman = float(spearmanr(ours, theirs).statistic) if len(set(ours)) > 1 and not same else None
    return Ratings(
        name,
        spearman,
        None if same else weighted_kappa(ours, theirs),
        area,
        {grade: cover_order(file, grade, data.human) for grade in MIN_GRADES},
        correlate(run_scores(label_max(file), data.runs), ranks_of(data.human)),
        Counter(ours),
        0.0 if same else 1 - len(ours) / asked,
        answer.pairs / answer.seconds if answer else None,
        by_pair,
        soft_ratings(queries, selector),
    )


def compare(
    queries: Sequence[QueryPassages], ratings_of: Callable[[Passage], dict[str, Value]]
) -> tuple[list[Value], list[int], float | None]:
    """The ratings of pairs that GPT-4 rated, GPT-4's ratings of these pairs, and the area under the curve."""
    ours: list[Value] = []
    theirs: list[int] = []
    areas: list[float | None] = []
    for query in queries:
        means_of_query = []
        for passage in query.passages:
            ratings = ratings_of(passage)
            reference = passage.rubric_grades[0].entry_ratings() if passage.rubric_grades else {}
            common = [entry_id for entry_id in reference if entry_id in ratings]
            ours += [ratings[entry_id] for entry_id in common]
            theirs += [reference[entry_id] for entry_id in common]
            means_of_query.append(fmean(ratings.values()) if ratings else 0.0)
        relevant = [max(j.relevance for j in passage.judgments) >= RELEVANT for passage in query.passages]
        areas.append(area_under_curve(means_of_query, relevant))
    known = [area for area in areas if area is not None]  # a sample may lack relevant passages
    return ours, theirs, fmean(known) if known else None


def soft_ratings(queries: Sequence[QueryPassages], selector: GradeSelector) -> SoftRatings | None:
    """The agreement of the expected ratings; None if no grade has one."""

    def expected(passage: Passage) -> dict[str, float]:
        return {
            entry_id: fsum(grade * probability for grade, probability in enumerate(probabilities))
            for grades in selector.select(passage)
            for entry_id, probabilities in grades.distributions().items()
        }

    masses = [
        mass
        for query in queries
        for passage in query.passages
        for grades in selector.select(passage)
        for mass in grades.masses().values()
    ]
    if not masses:
        return None
    ours, theirs, area = compare(queries, expected)
    spearman = float(spearmanr(ours, theirs).statistic) if len(set(ours)) > 1 else None
    return SoftRatings(spearman, area, fmean(masses))


def cover_order(file: GradedFile, min_grade: int, human: dict[str, float]) -> Correlation:
    metric = Cover(min_grade)
    scores = (score for query in file.queries.values() for score in metric(query, file.first_ranks))
    return correlate(means(scores), ranks_of(human))


def label_max(file: GradedFile) -> Iterator[Qrel]:
    for query in file.queries.values():
        yield from rubric_qrels(query, "max", 1)


# --- extraction -----------------------------------------------------------------------------------


@dataclass
class Extraction:
    """Extraction results on Wikipedia paragraphs (SQuAD2) and on the collection's passages."""

    f1: float
    decided: float
    spans: float | None


@dataclass
class Paragraph:
    """A SQuAD2 question; ``answers`` is empty for unanswerable questions."""

    question: str
    context: str
    answers: list[str] = field(default_factory=list)


def read_squad(path: Path) -> list[Paragraph]:
    document = json.loads(path.read_text(encoding="utf-8"))
    return [
        Paragraph(qa["question"], paragraph["context"], [answer["text"] for answer in qa["answers"]])
        for article in document["data"]
        for paragraph in article["paragraphs"]
        for qa in paragraph["qas"]
    ]


def extract(questions: Sequence[Paragraph], data: Collection, llm: LLM, answer: Clock) -> Extraction:
    """F1 and answerability on SQuAD2; the share of verbatim spans also on two passages per DL query."""
    replies = answer([extraction(q.question, q.context) for q in questions])
    answered = [QUESTION_EXTRACTION.parse(reply.text, None, "default").correct for reply in replies]
    f1 = [
        max(token_f1(reply.text, gold) for gold in question.answers) if has_answer else 0.0
        for question, reply, has_answer in zip(questions, replies, answered, strict=True)
        if question.answers
    ]
    decided = [has_answer == bool(q.answers) for q, has_answer in zip(questions, answered, strict=True)]
    contexts = [q.context for q in questions]

    pairs = [
        (entry.text, passage.text)
        for query in data.queries
        for passage in query.passages[:2]
        for entry in data.bank.entries(query.query_id).values()
    ]
    replies += answer([extraction(question, context) for question, context in pairs])
    contexts += [context for _, context in pairs]
    spans = [
        one_line(reply.text) in one_line(context)
        for reply, context in zip(replies, contexts, strict=True)
        if QUESTION_EXTRACTION.parse(reply.text, None, "default").correct
    ]
    return Extraction(fmean(f1), fmean(decided), fmean(spans) if spans else None)


def extraction(question: str, context: str) -> Request:
    return Request(QUESTION_EXTRACTION.render({"question": question, "context": context}))


def one_line(text: str) -> str:
    return " ".join(text.split())


def token_f1(reply: str, gold: str) -> float:
    """Token F1 of SQuAD, which ignores case, punctuation and articles (Rajpurkar et al., EMNLP 2016)."""
    ours, theirs = squad_tokens(reply), squad_tokens(gold)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def squad_tokens(text: str) -> list[str]:
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


# --- nuggets --------------------------------------------------------------------------------------


def match_nuggets(folder: Path, llm: LLM, answer: Clock) -> float | None:
    """Area under the curve of ratings against human labels, over all summaries and nuggets."""
    nuggets = [line.split("\t") for line in lines(folder / "SCUs.txt")]
    requests: list[Request] = []
    present: list[bool] = []
    summaries: list[str] = []
    for path in sorted((folder / "summaries").iterdir()):
        texts = lines(path)
        labels = lines(folder / "labels" / f"{path.stem}.label")
        summaries += texts
        for summary, of_text, row in zip(texts, nuggets, labels, strict=True):
            for nugget, label in zip(of_text, row.split(), strict=True):
                parts = NUGGET_SELF_RATED.render({"nugget": nugget, "context": summary})
                requests.append(Request(parts, NUGGET_SELF_RATED.labels))
                present.append(label == "1")
    verdicts = [NUGGET_SELF_RATED.parse(reply.text, None, "default") for reply in answer(requests)]
    return area_under_curve([verdict.rating or 0 for verdict in verdicts], present)


@dataclass
class Assignments:
    """Agreement of nugget assignments for whole answers with those of a large model."""

    kappa: float | None
    support: float | None
    labels: Counter[str]
    ungraded: float


def assign_nuggets(path: Path, llm: LLM, answer: Clock, every: int) -> Assignments:
    """Quadratic weighted kappa of the labels, and area under the curve of ratings for full support.

    Pairs for which the large model invented a label are ignored.
    """
    topics = [json.loads(line) for line in lines(path)]
    theirs: list[int] = []
    requests: list[Request] = []
    prompt = NUGGET_ASSIGNMENT_POINTWISE
    for topic in topics[::every]:
        for nugget in topic["nuggets"]:
            if nugget["assignment"] in LABEL_RATINGS:
                theirs.append(LABEL_RATINGS[nugget["assignment"]])
                values = {"query": topic["query"], "nugget": nugget["text"], "context": topic["answer_text"]}
                requests.append(Request(prompt.render(values), one_line=True))
    ratings = [prompt.parse(reply.text, None, "default").rating for reply in answer(requests)]
    ours = [rating or 0 for rating in ratings]
    return Assignments(
        weighted_kappa(ours, theirs),
        area_under_curve(ours, [rating == 2 for rating in theirs]),
        Counter(ASSIGNMENT_LABELS[rating] for rating in ratings if rating is not None),
        ratings.count(None) / len(ratings),
    )


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


# --- tables ---------------------------------------------------------------------------------------

Row = tuple[Ratings, Extraction | None, float | None, Assignments | None]


def tables(rows: Sequence[Row]) -> list[Table]:
    grades = sorted({grade for ratings, *_ in rows for grade in ratings.used})
    main = ["grader", "ρ with GPT-4", "κ with GPT-4", "AUC with judges", "cover ρ / τ", "qrels ρ / τ"]
    main += ["ungraded", "SQuAD2 F1", "answerable or not", "spans", "nuggets AUC", "pairs per CPU second"]

    def column(show: Callable[[Ratings, Extraction | None, float | None], list[Cell]]) -> list[list[Cell]]:
        return [[row[0].name, *show(*row[:3])] for row in rows]

    assigned = [(row[0].name, row[3]) for row in rows if row[3] is not None]

    def summary(r: Ratings, e: Extraction | None, nuggets: float | None) -> list[Cell]:
        squad = [decimals(e.f1), decimals(e.decided), percent(e.spans)] if e else [*"–––"]
        agreement = [decimals(r.spearman), decimals(r.kappa), decimals(r.area)]
        order = [pair(r.cover[4]), pair(r.qrels)]
        return [
            *agreement,
            *order,
            percent(r.ungraded),
            *squad,
            decimals(nuggets),
            f"{r.speed:,.0f}" if r.speed else "–",
        ]

    shown = [
        Table(main, column(summary)),
        Table(
            ["soft grades of", "ρ with GPT-4", "AUC with judges", "mean mass"],
            [
                [r.name, *map(decimals, (r.soft.spearman, r.soft.area, r.soft.mass))]
                for r, *_ in rows
                if r.soft
            ],
        ),
        Table(
            ["cover ρ / τ from grade", *map(str, MIN_GRADES)],
            column(lambda r, _e, _n: [pair(r.cover[grade]) for grade in MIN_GRADES]),
        ),
        Table(
            ["share of ratings", *map(str, grades)],
            column(lambda r, _e, _n: [percent(r.used[grade] / r.used.total()) for grade in grades]),
        ),
        Table(
            ["assignments", "κ with a large model", "AUC of support", *LABEL_RATINGS, "ungraded"],
            [[name, *assignment_cells(assignments)] for name, assignments in assigned],
        ),
    ]
    return [table for table in shown if table.rows]


def choices(written: Ratings, chosen: Ratings) -> list[Cell]:
    """The row of a model: agreement of its chosen ratings with its written ones, where it gave both."""
    both = sorted(written.by_pair.keys() & chosen.by_pair.keys())
    ours, theirs = ([ratings.by_pair[pair] for pair in both] for ratings in (chosen, written))
    equal = fmean(a == b for a, b in zip(ours, theirs, strict=True)) if both else None
    return [written.name, percent(equal), decimals(weighted_kappa(ours, theirs))]


def assignment_cells(result: Assignments) -> list[Cell]:
    shares = (result.labels[label] / max(1, result.labels.total()) for label in LABEL_RATINGS)
    return [decimals(result.kappa), decimals(result.support), *map(percent, shares), percent(result.ungraded)]


def decimals(value: float | None) -> Cell:
    return "–" if value is None else f"{value:.3f}"


def percent(share: float | None) -> Cell:
    return "–" if share is None else f"{100 * share:.1f} %"


def pair(correlation: Correlation) -> Cell:
    return f"{decimals(correlation.spearman)} / {decimals(correlation.kendall)}"


# --- cards ----------------------------------------------------------------------------------------

DEMO = Path(__file__).resolve().parents[2] / "data" / "demo"
LONGEST = 500
"""Words of a passage of LLMJudge; a few have 18,000, which take an encoder of windows minutes."""
SAMPLES, SPLITS, CUT_POINTS = 1000, 20, 5
"""Bootstrap samples, random halves of the queries, and cut points of a scale from 0 to 5."""


@dataclass
class OfQuery:
    """Ratings of a query: those of pairs with GPT-4's, their cosines, and the area under the curve."""

    ours: list[int] = field(default_factory=list)
    theirs: list[int] = field(default_factory=list)
    cosines: list[float] = field(default_factory=list)
    area: float | None = None


def of_queries(queries: Sequence[QueryPassages], selector: GradeSelector) -> list[OfQuery]:
    results = []
    for query in queries:
        ours, theirs, area = compare([query], selector.ratings)
        replies = [
            cosine_in(reply)
            for passage in query.passages
            for grades in selector.select(passage)
            if isinstance(grades, RubricGrades)
            for entry_id, reply in grades.answers
            if not passage.rubric_grades or entry_id in passage.rubric_grades[0].entry_ratings()
        ]
        results.append(OfQuery(ours, theirs, [cosine for cosine in replies if cosine is not None], area))
    return results


def with_interval(rows: Sequence[OfQuery], value: Callable[[Sequence[OfQuery]], float | None]) -> str:
    """A number of all queries, and its 95 % interval by resampled queries."""
    draw = Random(SEED)
    drawn = [value(draw.choices(rows, k=len(rows))) for _ in range(SAMPLES)]
    low, high = np.quantile([number for number in drawn if number is not None], [0.025, 0.975])
    return f"{decimals(value(rows))} [{low:.2f}, {high:.2f}]"


def rho(rows: Sequence[OfQuery]) -> float:
    ours = [grade for row in rows for grade in row.ours]
    return float(spearmanr(ours, [grade for row in rows for grade in row.theirs]).statistic)


def kappa(rows: Sequence[OfQuery]) -> float | None:
    return weighted_kappa([x for row in rows for x in row.ours], [x for row in rows for x in row.theirs])


def mean_area(rows: Sequence[OfQuery]) -> str:
    """The mean area of queries, and its 95 % interval by Gaffke's bound."""
    areas = [row.area for row in rows if row.area is not None]
    low, high = mean_interval(areas, (0, 1)) or (np.nan, np.nan)
    return f"{decimals(fmean(areas))} [{low:.2f}, {high:.2f}]"


def fitted(rows: Sequence[OfQuery]) -> list[float]:
    """The cut points with the highest quadratic κ, each moved in turn over the percentiles of cosines."""
    cosines = [cosine for row in rows for cosine in row.cosines]
    theirs = [grade for row in rows for grade in row.theirs]
    candidates = sorted(set(np.quantile(cosines, np.linspace(0.01, 0.995, 80)).round(4)))
    cuts = [float(np.quantile(cosines, share)) for share in np.linspace(0.2, 0.95, CUT_POINTS)]

    def agreement(points: Sequence[float]) -> float:
        return weighted_kappa([bisect_right(points, cosine) for cosine in cosines], theirs) or 0.0

    best = agreement(cuts)
    for _ in range(4):
        for number in range(CUT_POINTS):
            for candidate in candidates:
                moved = sorted([*cuts[:number], candidate, *cuts[number + 1 :]])
                if (value := agreement(moved)) > best:
                    best, cuts = value, moved
    return cuts


def split_halves(rows: Sequence[OfQuery]) -> list[Cell]:
    """Mean and standard deviation over splits: κ and ρ on the half that did not fit the cut points."""
    draw = Random(SEED)
    kappas, rhos = [], []
    for _ in range(SPLITS):
        shuffled = draw.sample(rows, len(rows))
        cuts = fitted(shuffled[: len(rows) // 2])
        held_out = [
            replace(row, ours=[bisect_right(cuts, cosine) for cosine in row.cosines])
            for row in shuffled[len(rows) // 2 :]
        ]
        kappas.append(kappa(held_out) or 0.0)
        rhos.append(rho(held_out))
    return [f"{fmean(values):.3f} (sd {stdev(values):.3f})" for values in (kappas, rhos)]


def areas_on(
    queries: Sequence[QueryPassages], questions: Mapping[str, Sequence[str]], llm: LLM
) -> list[OfQuery]:
    """The area under the curve of mean ratings by these questions, for each query."""
    answer, prompt = Clock(llm), QUESTION_SELF_RATED
    rows = []
    for query in queries:
        asked = questions[query.query_id]
        requests = [
            Request(prompt.render({"question": question, "context": passage.text}), prompt.labels)
            for passage in query.passages
            for question in asked
        ]
        ratings = [prompt.parse(reply.text, None, "default").rating or 0 for reply in answer(requests)]
        means = [fmean(ratings[start : start + len(asked)]) for start in range(0, len(ratings), len(asked))]
        relevant = [max((j.relevance for j in p.judgments), default=0) >= RELEVANT for p in query.passages]
        rows.append(OfQuery(area=area_under_curve(means, relevant)))
    return rows


def changed_replies(data: Collection, llm: LLM) -> str:
    """Replies to the first passage of each query that change in reverse order, one at a time."""
    requests = [
        Request(QUESTION_SELF_RATED.render({"question": entry.text, "context": query.passages[0].text}),
                QUESTION_SELF_RATED.labels)
        for query in data.queries
        for entry in data.bank.entries(query.query_id).values()
    ]  # fmt: skip
    first = dict(llm.generate(requests))
    again = dict(llm.generate(requests, [[index] for index in reversed(range(len(requests)))]))
    return f"{sum(first[i].text != again[i].text for i in first)} of {len(requests)}"


def demo_queries() -> list[QueryPassages]:
    """The judged passages among the first five of the demo's runs."""
    from exam_pp.cli.main import cli

    with TemporaryDirectory() as folder:
        output = str(Path(folder) / "passages.jsonl.gz")
        names = [f"{option}={DEMO / name}" for option, name in
                 {"--runs": "runs", "--texts": "passages.tsv", "--queries": "queries.jsonl",
                  "--qrels": "qrels.txt"}.items()]  # fmt: skip
        cli.main(args=["import", *names, "--top", "5", "-o", output], standalone_mode=False)
        queries = list(read_passages(output))
    for query in queries:
        query.passages = [passage for passage in query.passages if passage.judgments]
    return queries


def cards(models: Sequence[ModelOptions], data: Collection, shared: Path, sample: int | None) -> list[Table]:
    """The figures of the cards; ``sample`` counts the passages of each query."""
    texts = json.loads((shared / "llmjudge-dev" / "queries.json").read_text(encoding="utf-8"))
    draw = Random(SEED)
    judged = list(read_passages(shared / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"))
    for query in judged:
        query.passages = [passage for passage in query.passages if len(passage.text.split()) <= LONGEST]
    for query in judged if sample else ():
        query.passages = draw.sample(query.passages, min(sample or 0, len(query.passages)))
    demo, demo_bank = demo_queries(), read_bank(DEMO / "questions.jsonl")
    demo = [query for query in demo if demo_bank.entries(query.query_id)]
    asked = {q.query_id: [e.text for e in demo_bank.entries(q.query_id).values()] for q in demo}
    rows: list[list[Cell]] = []
    for model in models:
        llm = load_llm(model)
        clock = Clock(llm)
        options = resolve_options(GradeOptions([QUESTION_SELF_RATED], soft=False), llm, model)
        copies = (QueryPassages(q.query_id, [records.replace(p) for p in q.passages]) for q in data.queries)
        graded = list(grade(copies, data.bank, clock, model=llm.name, provenance={}, options=options))
        of = of_queries(graded, GradeSelector(GradeFilter(model=llm.name)))
        has_cosines = all(len(row.cosines) == len(row.theirs) for row in of)
        changed = changed_replies(data, llm)
        rows.append([
            llm.name, sum(len(row.ours) for row in of),
            *(with_interval(of, number) for number in (rho, kappa)), mean_area(of),
            *(split_halves(of) if has_cosines else ["–", "–"]),
            mean_area(areas_on(judged, {key: [text] for key, text in texts.items()}, llm)),
            mean_area(areas_on(demo, asked, llm)),
            f"{clock.pairs / clock.seconds:,.0f}", changed,
        ])  # fmt: skip
        log.info("%s", rows[-1])
    return [Table(
        ["judge", "pairs of DL 2019", "ρ with GPT-4", "κ with GPT-4", "AUC with judges", "κ, other half",
         "ρ, other half", "AUC on LLMJudge", "AUC on the demo", "pairs per CPU second",
         "changed replies"],
        rows,
    )]  # fmt: skip


def measure(
    model: ModelOptions,
    data: Collection,
    squad: Sequence[Paragraph],
    shared: Path,
    every: int,
    only_ratings: bool = False,
    soft: bool = False,
    calibrate: bool = False,
) -> Row:
    llm = load_llm(model)
    name = model.model + (f", {'calibrated' if calibrate else 'chosen'}" if model.choose else "")
    ratings = rate(data, name, Clock(llm), model, soft and model.model not in WITHOUT_LIMIT, calibrate)
    if only_ratings or model.choose:
        return ratings, None, None, None
    extracted = extract(squad, data, llm, Clock(llm))
    present = match_nuggets(shared / "realsumm", llm, Clock(llm))
    assignments = shared / "rag24" / "assignments.command-r-plus.jsonl"
    return ratings, extracted, present, assign_nuggets(assignments, llm, Clock(llm), every)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default=MODELS, help=f"comma separated (default: {MODELS})")
    parser.add_argument("--sample", type=int, help="passages per DL query (default: all)")
    parser.add_argument("--queries", type=int, help="number of DL queries (default: all)")
    parser.add_argument("--only-ratings", action="store_true", help="no extraction and no nuggets")
    parser.add_argument("--choose", action="store_true", help="also grade by the likeliest label")
    parser.add_argument("--soft", action="store_true", help="also soft grades")
    parser.add_argument("--max-tokens", type=int, help="tokens in a reply of a model with a checkpoint")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the data sets")
    parser.add_argument("--threads", type=int, default=2, help="threads of a local model (default: 2)")
    parser.add_argument("--cards", action="store_true", help="the figures of the cards instead")
    parser.add_argument("--greedy", action="store_true", help="greedy decoding instead of beam search")
    options = parser.parse_args()
    beams = 1 if options.greedy else ModelOptions("").num_beams
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        data = read_collection(options.shared, options.sample, options.queries)
        squad = read_squad(options.shared / "importers" / "dev-sample.json")
        if options.cards:
            models = [ModelOptions(m, threads=options.threads) for m in options.models.split(",")]
            print(render(Report("", cards(models, data, options.shared, options.sample)), "md"), end="")
            return
        rows: list[Row] = [(rate(data, "gpt-4", None), None, None, None)]
        models = [
            ModelOptions(
                m,
                threads=options.threads,
                num_beams=beams,
                max_tokens=None if m in WITHOUT_LIMIT else options.max_tokens,
            )
            for m in options.models.split(",")
        ]
        agreement: list[list[Cell]] = []
        for model in models:
            ways = [(model, False)]
            if options.choose and model.model not in WITHOUT_LIMIT:
                choosing = replace(model, choose=True, max_tokens=None, num_beams=None)
                ways += [(choosing, False), (choosing, True)]
            every, only = options.sample or 1, options.only_ratings
            measured = [
                measure(way, data, squad, options.shared, every, only, options.soft, calibrate)
                for way, calibrate in ways
            ]
            rows += measured
            agreement += [choices(measured[0][0], row[0]) for row in measured[1:]]
    except (ExamError, OSError) as error:
        sys.exit(f"graders.py: {error}")
    chosen = [Table(["chosen ratings of", "as written", "κ with written"], agreement)] if agreement else []
    print(render(Report("", [*tables(rows), *chosen]), "md"), end="")


if __name__ == "__main__":
    main()
