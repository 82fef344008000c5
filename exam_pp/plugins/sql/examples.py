"""Example SQL queries for frequent questions about graded files."""

from __future__ import annotations

from typing import NamedTuple

from exam_pp.cli.command import Kind, Listing
from exam_pp.registry import Registry
from exam_pp.rendering.document import Report, Table


class Example(NamedTuple):
    """A question and the SQL that answers it; ``needs`` names the options or data that the SQL needs."""

    name: str
    question: str
    sql: str
    needs: str = ""


_EXAMPLES = (
    Example(
        "contents",
        "Which models and prompts graded the file, and how many passages?",
        """
SELECT model, prompt_class, kind, count(*) AS passages, sum(asked) AS pairs,
       sum(ungraded) AS ungraded, round(sum(correct) / sum(asked), 3) AS share_correct
FROM grades
GROUP BY ALL ORDER BY ALL
""",
    ),
    Example(
        "bad-questions",
        "Which questions or nuggets are covered by no passage, or by nearly every passage?",
        """
SELECT ratings.query_id, ratings.entry_id, any_value(entry_text) AS entry_text, model, prompt_class,
       count(rating) AS passages, max(rating) AS best, round(avg((rating >= 4)::INT), 3) AS covering
FROM ratings LEFT JOIN bank USING (query_id, entry_id)
WHERE is_rated AND kind <> 'direct'
GROUP BY ALL HAVING covering = 0 OR covering >= 0.9
ORDER BY covering DESC, ratings.query_id, ratings.entry_id, model, prompt_class
""",
    ),
    Example(
        "uncovered-passages",
        "Which passages are judged relevant (2 or more), but cover no entry?",
        """
SELECT query_id, passage_id, model, prompt_class, max(relevance) AS relevance, max(best_rating) AS best,
       any_value(left(passage_text, 60)) AS text
FROM judgments JOIN grades USING (file, query_id, passage_id) JOIN passages USING (file, query_id, passage_id)
WHERE is_rated AND kind <> 'direct'
GROUP BY file, query_id, passage_id, model, prompt_class
HAVING max(relevance) >= 2 AND max(best_rating) < 4
ORDER BY relevance DESC, best, query_id, passage_id, model, prompt_class
""",
    ),
    Example(
        "judgments",
        "How do judgments and the best rating of a passage relate?",
        """
SELECT model, prompt_class, relevance, count(*) AS passages, count_if(best_rating >= 4) AS best_4_or_5,
       count_if(best_rating BETWEEN 1 AND 3) AS best_1_to_3, count_if(best_rating = 0) AS best_0
FROM judgments JOIN grades USING (file, query_id, passage_id)
WHERE is_rated AND kind <> 'direct'
GROUP BY ALL ORDER BY model, prompt_class, relevance DESC
""",
    ),
    Example(
        "disagreement",
        "How often do ratings and extracted answers of the same model contradict each other?",
        """
SELECT rated.model, rated.prompt_class AS rated_with, extracted.prompt_class AS extracted_with,
       count(*) AS pairs,
       count_if(rated.rating >= 4 AND extracted.rating = 0) AS rated_high_but_no_answer,
       count_if(rated.rating = 0 AND extracted.rating = 1) AS rated_0_but_answered
FROM ratings AS rated
JOIN ratings AS extracted USING (file, query_id, passage_id, entry_id, model)
WHERE rated.is_rated AND NOT extracted.is_rated AND rated.rating + extracted.rating IS NOT NULL
GROUP BY ALL ORDER BY ALL
""",
    ),
    Example(
        "graders",
        "How much do the ratings of two models with the same prompt differ?",
        """
SELECT a.prompt_class, a.model AS model_a, b.model AS model_b, count(*) AS pairs,
       round(avg((a.rating = b.rating)::INT), 3) AS same,
       round(avg(abs(a.rating - b.rating)), 3) AS mean_difference,
       count_if((a.rating >= 4) <> (b.rating >= 4)) AS covered_by_one_model
FROM ratings AS a JOIN ratings AS b USING (query_id, passage_id, entry_id, prompt_class)
WHERE a.model < b.model AND a.is_rated AND b.is_rated AND a.rating + b.rating IS NOT NULL
GROUP BY ALL ORDER BY ALL
""",
    ),
    Example(
        "system-coverage",
        "Which share of the bank do the first 20 passages or the answer of each system cover (Rubric-Cover)?",
        """
WITH systems AS (  -- ranks start at 0 or 1
    SELECT system, least(min(rank), 1) AS first_rank FROM rankings GROUP BY system
), asked AS (
    SELECT model, prompt_class, query_id, count(DISTINCT entry_id) AS entries
    FROM ratings WHERE is_rated AND kind <> 'direct' GROUP BY ALL
), covered AS (
    SELECT model, prompt_class, query_id, system, count(DISTINCT entry_id) AS entries
    FROM ratings JOIN rankings USING (file, query_id, passage_id) JOIN systems USING (system)
    WHERE is_rated AND kind <> 'direct' AND rating >= 4
      AND (role = 'answer' OR rank < first_rank + 20)
    GROUP BY ALL
)
SELECT model, prompt_class, system, round(avg(coalesce(covered.entries, 0) / asked.entries), 3) AS cover
FROM asked CROSS JOIN systems LEFT JOIN covered USING (model, prompt_class, query_id, system)
GROUP BY ALL ORDER BY model, prompt_class, cover DESC, system
""",
        "rankings in the graded file",
    ),
    Example(
        "ungraded",
        "Which pairs of passage and entry have no rating, and why?",
        """
SELECT model, prompt_class, failure, count(*) AS pairs, count(DISTINCT query_id) AS queries
FROM ratings WHERE rating IS NULL
GROUP BY ALL ORDER BY pairs DESC, model, prompt_class, failure
""",
    ),
    Example(
        "odd-replies",
        "Which replies of a rating prompt are not just a number?",
        """
SELECT answers.model, answers.prompt_class, answer, count(*) AS times
FROM answers JOIN grades USING (grade_set)
WHERE is_rated AND grades.kind <> 'direct' AND NOT regexp_full_match(trim(answer), '-?[0-9]+')
GROUP BY ALL ORDER BY times DESC, answers.model, answers.prompt_class, answer LIMIT 50
""",
    ),
    Example(
        "run-holes",
        "How many of the first 20 passages of each run are graded?",
        """
WITH systems AS (SELECT system, least(min(rank), 1) AS first_rank FROM runs GROUP BY system)
SELECT system, count(*) AS returned,
       count_if((query_id, passage_id) IN (SELECT (query_id, passage_id) FROM grades)) AS graded
FROM runs JOIN systems USING (system) WHERE rank < first_rank + 20
GROUP BY ALL ORDER BY ALL
""",
        "--runs",
    ),
    Example(
        "leaderboards",
        "Which rank does each system have on each leaderboard?",
        """
SELECT system, leaderboard, metric, value,
       rank() OVER (PARTITION BY leaderboard, metric ORDER BY value DESC) AS place
FROM scores WHERE query_id = 'all'
ORDER BY leaderboard, metric, place, system
""",
        "--scores",
    ),
)

EXAMPLES: Registry[Example] = Registry("example query", "queries")
for _example in _EXAMPLES:
    EXAMPLES.add(_example.name, _example._replace(sql=_example.sql.strip() + "\n"))


def _report() -> Report:
    rows = [(example.name, example.question, example.needs) for example in map(EXAMPLES.get, EXAMPLES)]
    return Report("", [Table(("name", "question", "needs"), rows)])


LISTING = Listing(
    Kind(
        """List example queries for `exam-pp query`, with the questions that they answer.

    `exam-pp show sql NAME` prints the SQL.

    Example:

    \b
      exam-pp list sql
    """
    ),
    Kind(
        """Print an example query for `exam-pp query`.

    NAME is an example of `exam-pp list sql`.

    Example:

    \b
      exam-pp show sql bad-questions
    """
    ),
    _report,
    lambda name: EXAMPLES.get(name).sql,
)
