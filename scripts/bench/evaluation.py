"""Benchmark of evaluation: runs against qrels, leaderboards of a graded file.

Usage: python -m scripts.bench.evaluation [--rounds 3] [--scale 1.0] [--json FILE]

Synthetic runs of the size of TREC DL 2020 (60 runs, 54 queries, 1,000 lines) are scored with five measures:
by exam_pp in one process, by a process per run that only reads and calls pytrec_eval (the minimal cost of
calling trec_eval once per run), and by the commands of exam_pp (once) and ir-measures (six runs, times ten).
Then a second qrels file is scored with the same runs. Leaderboards (qrels and three leaderboards of
Rubric-Cover, 60 systems) are made from the graded file of scripts/bench/store.py, by exam_pp and in the
published way: the whole file as pydantic v1 objects, then loops over them. Ways run in separate processes
that take turns; results that must agree are compared. CPU seconds are measured for the work of a way, and for
its whole process with imports.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from scripts.bench import make_graded, store
from scripts.bench.ways import children, environment, in_turn, medians, output

RUNS, QUERIES, LINES, JUDGED = 60, 54, 1000, 210
MEASURES = ["nDCG@10", "AP", "RR", "P@10", "R@100"]
PYTREC = ["ndcg_cut.10", "map", "recip_rank", "P.10", "recall.100"]
COMMAND_RUNS = 6
PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
THRESHOLDS = (3, 4, 5)


class Result(NamedTuple):
    """A checksum of a way's result, and the CPU seconds of its work.

    Imports do not count, except in processes that the way starts.
    """

    checksum: float
    seconds: float


# --- the data -----------------------------------------------------------------------------------


def generate(folder: Path, scale: float) -> None:
    """Write run files, two qrels files, and the graded file."""
    rng = random.Random(20)
    queries = [f"{number:06d}" for number in range(QUERIES)]
    judged: dict[str, set[int]] = {}
    for name in ("qrels", "more-qrels"):
        with (folder / name).open("w") as out:
            for query in queries:
                documents = rng.sample(range(3 * LINES), JUDGED)
                judged.setdefault(query, set()).update(documents)
                for document in sorted(documents):
                    grade = rng.choice([0, 0, 0, 1, 2, 3, 4, 5])
                    out.write(f"{query} 0 msmarco_passage_{document:08d} {grade}\n")
    (folder / "runs").mkdir()
    for number in range(max(2, round(RUNS * scale))):
        name = f"run{number:02d}"
        with (folder / "runs" / f"{name}.run").open("w") as out:
            for query in queries:
                documents = rng.sample(range(3 * LINES), LINES)
                # First passages are judged more often: runs of which hardly any is are read again for a note.
                documents.sort(key=lambda document: rng.random() / (1 + 3 * (document in judged[query])))
                for rank, document in enumerate(documents, 1):
                    score = LINES - rank + rng.random()
                    out.write(f"{query} Q0 msmarco_passage_{document:08d} {rank} {score:.6f} {name}\n")
    make_graded.generate(folder / "graded.jsonl.gz", scale)


# --- runs ---------------------------------------------------------------------------------------


def runs_exam_pp(folder: Path) -> Result:
    """Score all runs in one process."""
    from exam_pp.phases.evaluation.score_runs import score_runs
    from exam_pp.store.trec.runs import read_qrels

    start = time.process_time()
    evaluation = score_runs(read_qrels(folder / "qrels"), folder / "runs", MEASURES)
    return Result(sum(score.value for score in evaluation.scores), time.process_time() - start)


def more_exam_pp(folder: Path) -> Result:
    """Score runs that are already in memory with a second qrels file."""
    from exam_pp.metrics.gains import run_scores
    from exam_pp.metrics.trec_measures import parse_measures
    from exam_pp.phases.evaluation.score_runs import read_matrix
    from exam_pp.store.trec.runs import read_qrels

    first, second = read_qrels(folder / "qrels"), read_qrels(folder / "more-qrels")
    matrix = read_matrix(folder / "runs", [(line.query_id, line.passage_id) for line in first + second])
    list(run_scores(matrix, first, parse_measures(MEASURES)))
    start = time.process_time()
    scores = list(run_scores(matrix, second, parse_measures(MEASURES)))
    seconds = time.process_time() - start
    return Result(sum(score.value for score in scores), seconds)


def one_process_each(folder: Path, qrels: str) -> Result:
    """Score every run in its own process, like calls of trec_eval in a loop."""
    total, before = 0.0, children()
    for path in sorted((folder / "runs").iterdir()):
        command = [sys.executable, __file__, "--single", str(path), str(folder / qrels)]
        total += float(output(command))
    return Result(total, children() - before)


def single(path: Path, qrels_path: Path) -> float:
    """Score a run with pytrec_eval only."""
    import pytrec_eval

    qrels: dict[str, dict[str, int]] = {}
    for line in qrels_path.read_text().splitlines():
        query, _, document, grade = line.split()
        qrels.setdefault(query, {})[document] = int(grade)
    run: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    scores = pytrec_eval.RelevanceEvaluator(qrels, PYTREC).evaluate(run)
    return float(sum(value for measures in scores.values() for value in measures.values()))


def exam_pp_command(folder: Path) -> Result:
    """Score all runs with the command of exam_pp; the checksum is the number of systems."""
    before = children()
    command = [sys.executable, "-m", "exam_pp", "-q", "evaluate", "judgments", str(folder / "qrels")]
    command += ["--runs", str(folder / "runs"), "--format", "tsv"]
    lines = output(command + [word for name in MEASURES for word in ("-m", name)]).splitlines()
    return Result(float(len(lines) - 1), children() - before)


def ir_measures_command(folder: Path) -> Result:
    """Score some runs with the command of ir-measures; the seconds are extrapolated to all runs."""
    before, total = children(), 0.0
    paths = sorted((folder / "runs").iterdir())
    chosen = paths[:COMMAND_RUNS]
    for path in chosen:
        command = [sys.executable, "-m", "ir_measures", str(folder / "qrels"), str(path), *MEASURES]
        total += sum(float(line.split("\t")[1]) for line in output(command).splitlines() if line)
    return Result(total, (children() - before) * len(paths) / len(chosen))


# --- leaderboards -------------------------------------------------------------------------------------


def read_only(folder: Path) -> Result:
    """Read the graded file with the fields for metrics."""
    from exam_pp.store.passages.graded_file import read_passages

    start = time.process_time()
    count = sum(len(query.passages) for query in read_passages(folder / "graded.jsonl.gz"))
    return Result(float(count), time.process_time() - start)


def scan_only(folder: Path) -> Result:
    """Decompress the graded file and let the JSON decoder count its passages."""
    import msgspec

    from exam_pp.store.files import read_lines

    empty = msgspec.defstruct("Empty", [])
    decoder = msgspec.json.Decoder(tuple[str, list[empty]])  # type: ignore[valid-type]
    start = time.process_time()
    count = sum(len(decoder.decode(line)[1]) for _, line in read_lines(folder / "graded.jsonl.gz"))
    return Result(float(count), time.process_time() - start)


def leaderboards_exam_pp(folder: Path) -> Result:
    """Make qrels, and leaderboards of Rubric-Cover at three thresholds."""
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.metrics.leaderboard import standings
    from exam_pp.phases.evaluation.cover import cover_of
    from exam_pp.phases.evaluation.rubric_qrels import qrels_of
    from exam_pp.phases.evaluation.selected_grades import read_selected

    start = time.process_time()
    file = folder / "graded.jsonl.gz"
    data = read_selected(file, None, GradeFilter(prompt_class=PROMPT), None, None)
    total = float(sum(qrel.relevance for qrel in qrels_of(data).qrels))
    rows = standings(cover_of(data, min_grades=THRESHOLDS).scores)
    total += sum(row.mean for row in rows if row.metric.startswith("Cover"))
    return Result(total, time.process_time() - start)


def cover_alone(folder: Path) -> Result:
    """The work of `exam-pp evaluate cover` without output."""
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.evaluation.cover import cover

    start = time.process_time()
    evaluation = cover(folder / "graded.jsonl.gz", grade_filter=GradeFilter(prompt_class=PROMPT))
    return Result(float(len(evaluation.scores)), time.process_time() - start)


def leaderboards_published(folder: Path) -> Result:
    """Make the same qrels and leaderboards with pydantic v1 objects, system by system."""
    record = store._published_models()
    start = time.process_time()
    queries = store.published_load(folder / "graded.jsonl.gz", record)
    labels: dict[tuple[str, str], int] = {}
    for query, passages in queries:
        for passage in passages:
            ratings = [rating.self_rating for rating in _published_grades(passage)]
            if ratings:
                labels[query, passage.paragraph_id] = max(ratings)
    zero = {
        r.method
        for _, passages in queries
        for p in passages
        for r in p.paragraph_data.rankings
        if r.rank == 0
    }
    systems = sorted(
        {r.method for _, passages in queries for p in passages for r in p.paragraph_data.rankings}
    )
    total = float(sum(labels.values()))
    for threshold in THRESHOLDS:
        covers: dict[str, list[float]] = {system: [] for system in [*systems, "_overall_"]}
        for _, passages in queries:
            covered, entries = _published_covered(passages, threshold, zero)
            if not entries:
                continue
            for system, values in covers.items():
                values.append(len(covered.get(system, ())) / len(entries))
        total += sum(statistics.fmean(values) for values in covers.values())
    return Result(total, time.process_time() - start)


def _published_grades(passage: Any) -> list[Any]:
    chosen = [grades for grades in passage.exam_grades if grades.prompt_info["prompt_class"] == PROMPT]
    return [rating for grades in chosen for rating in grades.self_ratings or ()]


def _published_covered(
    passages: list[Any], threshold: int, zero: set[str]
) -> tuple[dict[str, set[str]], set[str]]:
    """System to the entries that its first 20 ranks cover, and all entries."""
    covered: dict[str, set[str]] = {"_overall_": set()}
    entries: set[str] = set()
    for passage in passages:
        grades = _published_grades(passage)
        entries |= {rating.question_id for rating in grades}
        reached = {rating.question_id for rating in grades if rating.self_rating >= threshold}
        covered["_overall_"] |= reached
        for ranking in passage.paragraph_data.rankings:
            if ranking.rank < 20 + (ranking.method not in zero):
                covered.setdefault(ranking.method, set()).update(reached)
    return covered, entries


# --- the report ---------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Path], Result]] = {
    "runs: exam_pp": runs_exam_pp,
    "runs: one process each, pytrec_eval alone": lambda folder: one_process_each(folder, "qrels"),
    "runs: exam_pp's command": exam_pp_command,
    "runs: one process each, ir-measures' command": ir_measures_command,
    "more qrels: exam_pp": more_exam_pp,
    "more qrels: one process each, pytrec_eval alone": lambda folder: one_process_each(folder, "more-qrels"),
    "graded file: inflating and scanning": scan_only,
    "graded file: reading": read_only,
    "graded file: cover": cover_alone,
    "graded file: qrels and three cover leaderboards": leaderboards_exam_pp,
    "graded file: the same in the published way": leaderboards_published,
}
RATIOS = [
    ("runs: one process each, pytrec_eval alone", "runs: exam_pp", "process"),
    ("runs: one process each, pytrec_eval alone", "runs: exam_pp", "process_wall"),
    ("runs: one process each, ir-measures' command", "runs: exam_pp's command", "cpu"),
    ("more qrels: one process each, pytrec_eval alone", "more qrels: exam_pp", "cpu"),
    ("graded file: the same in the published way", "graded file: qrels and three cover leaderboards", "cpu"),
]
"""The slow way, the fast way, and which seconds of the fast way are compared."""
SAME = [
    ("runs: exam_pp", "runs: one process each, pytrec_eval alone"),
    ("more qrels: exam_pp", "more qrels: one process each, pytrec_eval alone"),
    ("graded file: qrels and three cover leaderboards", "graded file: the same in the published way"),
]


KINDS = {"cpu": "CPU", "process": "CPU, imports included", "process_wall": "wall"}


def table(by_way: dict[str, dict[str, float]]) -> str:
    """The medians and ratios as Markdown."""
    lines = ["| way | CPU (s) | process (s) | wall (s) | spread |", "|---|---:|---:|---:|---:|"]
    for way, row in by_way.items():
        seconds = f"{row['cpu']:.2f} | {row['process']:.2f} | {row['process_wall']:.2f}"
        lines.append(f"| {way} | {seconds} | {row['spread']:.0%} |")
    lines += ["", "| ratio | of | measured |", "|---|---|---:|"]
    for slow, fast, kind in RATIOS:
        # For "one process each", "cpu" already includes the processes that it starts.
        ratio = by_way[slow]["process_wall" if kind == "process_wall" else "cpu"] / by_way[fast][kind]
        lines.append(f"| {slow} / {fast} | {KINDS[kind]} | {ratio:.1f} |")
    share = by_way["graded file: reading"]["cpu"] / by_way["graded file: cover"]["cpu"]
    lines.append(f"| reading, as a share of cover | CPU | {share:.0%} |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark or one way; exits with 1 if ways that must agree differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the runs and of the passages")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--way", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--single", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.single:
        print(repr(single(*map(Path, options.single))))
        return
    if options.way:
        result = WAYS[options.way[0]](Path(options.way[1]))
        print(json.dumps({"result": result.checksum, "cpu": result.seconds}))
        return
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name), options.scale)
        results = in_turn(__file__, WAYS, [name], options.rounds)
    print(f"{environment('ir-measures', 'msgspec', 'numpy', 'scipy')}\n\n{table(medians(results))}")
    checksums = {way: rounds[0]["result"] for way, rounds in results.items()}
    differ = [(a, b) for a, b in SAME if not math.isclose(checksums[a], checksums[b], rel_tol=1e-9)]
    print(f"\n{'Results differ: ' + str(differ) if differ else 'All results agree.'}")
    if options.json:
        options.json.write_text(json.dumps({"medians": medians(results), "differ": differ}, indent=2) + "\n")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
