"""Checks of passages files, line by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from exam_pp.banks import LABEL_RATINGS
from exam_pp.data_model import DirectGrade, Judgment, Passage, QueryPassages, RankingEntry, RubricGrades
from exam_pp.errors import DataError
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.validation.checks import Findings, ranking_problems
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.results import RunLine
from exam_pp.roles import System, role_of
from exam_pp.splicing import duplicate_key
from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import parse_query
from exam_pp.text.wording import counted


def check_graded(path: Path, findings: Findings) -> str:
    """Check a passages file with one query in memory at a time; returns a summary of its contents."""
    file = str(path)
    first_line: dict[str, int] = {}
    passages = grade_sets = 0
    for number, line in read_lines(path):
        try:
            query = parse_query(line, file, number, every_field=True)
        except DataError as error:
            findings.add("format", file, number, error.field or "", error.problem)
            continue
        note = partial(_note, findings, file, number, query.query_id)
        if key := duplicate_key(line):
            note("duplicate-key", "", f"has the key {key!r} twice in one object")
        if (first := first_line.setdefault(query.query_id, number)) != number:
            note("duplicate-query", "", f"is also on line {first}")
        _check_passages(query, note)
        _check_rankings(query, note)
        passages += len(query.passages)
        for passage in query.passages:
            systems = [entry.method for entry in passage.rankings]
            findings.sees(query.query_id, systems, [passage.passage_id], passage.text)
            grade_sets += sum(1 for _ in passage.grade_sets())
            grade_sets += len(passage.support_grades or ()) + len(passage.criteria_grades or ())
    if not first_line and not findings.has(file):
        findings.add("empty", file, None, "", "has no queries")
    sets = counted(grade_sets, "set of grades", "sets of grades")
    return f"{counted(len(first_line), 'query')}, {counted(passages, 'passage')}, {sets}"


def _note(
    findings: Findings, file: str, line: int, query_id: str, check: str, where: str, message: str
) -> None:
    findings.add(check, file, line, f"query {query_id}" + (f", {where}" if where else ""), message)


def _check_passages(query: QueryPassages, note: Note) -> None:
    seen: set[str] = set()
    for passage in query.passages:
        where = f"passage {passage.passage_id}"
        if passage.passage_id in seen:
            note("duplicate-passage", where, "occurs twice in this query")
        seen.add(passage.passage_id)
        _check_judgments(query.query_id, passage, passage.judgments, where, note)
        _check_ids_of_rankings(query.query_id, passage, passage.rankings, where, note)
        _check_supports(passage, where, note)
        _check_criteria(query.query_id, passage, where, note)
        rated: dict[tuple[GradeKey, str | None], set[str]] = defaultdict(set)
        for grades in passage.grade_sets():
            key = GradeKey.of(grades)
            location = f"{where}, {key.model} {key.prompt_class}"
            check_grades(grades, key.prompt_class, location, note)
            entries = grades.entry_ratings().keys()
            for entry_id in entries & rated[key, grades.prompt_hash]:
                note(
                    "rated-again",
                    location,
                    f"{entry_id} is also rated in an earlier set of grades; the later rating counts",
                )
            rated[key, grades.prompt_hash] |= entries


def _check_supports(passage: Passage, where: str, note: Note) -> None:
    """Check the grades of the citations of a part of an answer."""
    for grades in passage.support_grades or ():
        location = f"{where}, {grades.model} {grades.prompt_class}"
        for citation, count in Counter(item.citation for item in grades.supports).items():
            if count > 1:
                note("repeated-entry", location, f"the citation {citation} is graded {count} times")


def _check_criteria(query_id: str, passage: Passage, where: str, note: Note) -> None:
    """Check the ratings of the answers whose first part the passage is."""
    systems = {
        str(System.of(ranking))
        for ranking in passage.rankings
        if role_of(query_id, passage.passage_id, ranking) == "answer"
    }
    for grades in passage.criteria_grades or ():
        location = f"{where}, {grades.model} {grades.prompt_class}"
        if grades.system not in systems:
            note(
                "other-system",
                location,
                f"has ratings of {grades.system}, but is no part of its answer",
            )
        for criterion, count in Counter(item.criterion for item in grades.ratings).items():
            if count > 1:
                note("repeated-entry", location, f"the criterion {criterion} is rated {count} times")
        levels = grades.highest_levels
        for item in grades.ratings:
            highest = levels.get(item.criterion)
            if item.rating is None:
                continue
            if item.rating < 0 or (highest is not None and item.rating > highest):
                scale = "0 and higher" if highest is None else f"0 to {highest}"
                note("rating-scale", location, f"{item.criterion} is rated {item.rating}, outside {scale}")


def _check_judgments(
    query_id: str, passage: Passage, judgments: Sequence[Judgment], where: str, note: Note
) -> None:
    levels: dict[str, list[int]] = defaultdict(list)
    for judgment in judgments:
        levels[judgment.query_id].append(judgment.relevance)
        if judgment.passage_id != passage.passage_id:
            note("wrong-id", where, f"has a judgment for the passage {judgment.passage_id}")
        if query_id not in (judgment.query_id, judgment.title_query) and not judgment.query_id.startswith(
            query_id + "/"
        ):
            note("wrong-id", where, f"has a judgment for the query {judgment.query_id}")
    for counts in map(Counter, levels.values()):
        if len(counts) > 1:
            note("judgment-conflict", where, f"is judged {' and '.join(map(str, counts))}")


def _check_ids_of_rankings(
    query_id: str, passage: Passage, rankings: Sequence[RankingEntry], where: str, note: Note
) -> None:
    systems = Counter(_ranking_name(query_id, ranking) for ranking in rankings)
    for system, times in systems.items():
        if times > 1:
            note("duplicate-ranking", where, f"the system {system} ranks it {times} times")
    for ranking in rankings:
        if ranking.passage_id != passage.passage_id:
            note("wrong-id", where, f"has a ranking for the passage {ranking.passage_id}")
        if ranking.query_id != query_id and not ranking.query_id.startswith(query_id + "/"):
            note("wrong-id", where, f"has a ranking for the query {ranking.query_id}")


def _ranking_name(query_id: str, ranking: RankingEntry) -> str:
    """Return the system, with its repeat, its role and the facet for which it ranked passages, if any."""
    name = str(System.of(ranking))
    if ranking.role == "answer":
        name = f"{name} (answer)"
    if ranking.query_id == query_id or not ranking.query_id.startswith(f"{query_id}/"):
        return name
    return f"{name} ({ranking.query_id.removeprefix(f'{query_id}/')})"


def _check_rankings(query: QueryPassages, note: Note) -> None:
    systems: dict[str, list[RunLine]] = defaultdict(list)
    for passage in query.passages:
        for of in passage.rankings:
            line = RunLine(query.query_id, passage.passage_id, of.rank, of.score, of.method)
            systems[_ranking_name(query.query_id, of)].append(line)
    for check, message in ranking_problems(systems, ties=False):  # all scores of a passages file are by rank
        note(check, "", message)


Note = Callable[[str, str, str], None]
"""Adds a finding: name of the check, location on the line, message."""

_SOFT_TOLERANCE = 0.01


def check_grades(grades: RubricGrades | DirectGrade, prompt_class: str, where: str, note: Note) -> None:
    """Add findings for the inconsistencies within a set of grades."""
    prompt = PROMPTS.find(prompt_class)
    max_rating = grades.max_rating if prompt is None else _highest_rating(prompt)
    if isinstance(grades, RubricGrades):
        _check_lists(grades, where, note)
        if prompt is not None and prompt.is_rated and not grades.is_rated and grades.graded_ids():
            note("no-ratings", where, "has lists of correct and wrong entries, but no ratings")
        _check_assignments(grades, where, note)
    elif grades.self_ratings is not None and grades.self_ratings <= 0 and grades.correct:
        note("rating-conflict", where, f"the passage is rated {grades.self_ratings}, but marked as correct")
    _check_scale(grades, max_rating, where, note)
    _check_soft(grades, max_rating, where, note)


def _check_lists(grades: RubricGrades, where: str, note: Note) -> None:
    """Compare the lists of correct and wrong entries with each other, the ratings and the replies."""
    correct, wrong = set(grades.correct), set(grades.wrong)
    for entry_id in sorted(correct & wrong):
        note("rating-conflict", where, f"{entry_id} is both correct and wrong")
    rated = [rating.entry_id for rating in grades.self_ratings or ()]
    answered = [entry_id for entry_id, _ in grades.answers]
    lists = [ids for ids in (grades.correct, grades.wrong, rated, answered) if len(set(ids)) < len(ids)]
    duplicates = (next(key for key, count in Counter(ids).items() if count > 1) for ids in lists)
    for entry_id in dict.fromkeys(duplicates):
        note("repeated-entry", where, f"{entry_id} is listed twice")
    if grades.self_ratings is None:
        return
    ratings: dict[str, list[int]] = defaultdict(list)  # several for a duplicate entry
    for rating in grades.self_ratings:
        ratings[rating.entry_id].append(rating.self_rating)
    for entry_id, values in ratings.items():
        if entry_id not in correct and entry_id not in wrong:
            note(
                "rating-conflict",
                where,
                f"{entry_id} is rated {values[0]}, but is not listed as correct or wrong",
            )
        elif entry_id in correct and max(values) <= 0:
            note("rating-conflict", where, f"{entry_id} is rated {values[0]}, but is listed as correct")
    for entry_id in sorted((correct | wrong) - set(rated)):
        note("rating-conflict", where, f"{entry_id} is listed as correct or wrong, but has no rating")


def _check_assignments(grades: RubricGrades, where: str, note: Note) -> None:
    if not grades.assignments:
        return
    rated = {(rating.entry_id, rating.self_rating) for rating in grades.self_ratings or ()}
    for item in grades.assignments:
        rating = LABEL_RATINGS.get(item.assignment)
        if rating is None:
            note("assignment", where, f"{item.nugget_id} has the unknown assignment {item.assignment!r}")
        elif (item.nugget_id, rating) not in rated:
            note(
                "assignment",
                where,
                f"{item.nugget_id} has the assignment {item.assignment}, but not the rating {rating}",
            )


def _check_scale(grades: RubricGrades | DirectGrade, max_rating: int | None, where: str, note: Note) -> None:
    if not grades.is_rated:
        return
    lowest = 0 if grades.nugget_labels() is None else min(LABEL_RATINGS.values())
    for entry_id, rating in grades.entry_ratings().items():
        if rating < lowest or (max_rating is not None and rating > max_rating):
            scale = f"below {lowest}" if rating < lowest else f"outside the scale of 0 to {max_rating}"
            note("rating-scale", where, f"{entry_id} is rated {rating}, {scale}")


def _highest_rating(prompt: Prompt) -> int | None:
    if prompt.max_rating is not None:
        return prompt.max_rating
    return len(prompt.choices) - 1 if prompt.choices else None


def _check_soft(grades: RubricGrades | DirectGrade, max_rating: int | None, where: str, note: Note) -> None:
    for entry_id, probabilities in grades.distributions().items():
        if min(probabilities, default=-1) < 0 or abs(sum(probabilities) - 1) > _SOFT_TOLERANCE:
            note("soft-grade", where, f"{entry_id} has probabilities that do not add up to 1")
        elif max_rating is not None and len(probabilities) != max_rating + 1:
            number = counted(len(probabilities), "probability", "probabilities")
            note("soft-grade", where, f"{entry_id} has {number} on a scale of 0 to {max_rating}")
