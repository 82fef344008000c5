"""The options of all commands: their section in ``--help`` and their one meaning."""

from __future__ import annotations

from collections.abc import Collection

OPTIONS: dict[str, dict[str, str]] = {
    "Input": {
        "--answers": "Answers of RAG systems",
        "--bank": "Test bank; several are merged as by `exam-pp merge`",
        "--bank-writer": "Model that wrote the bank",
        "--closed-book": "Grades without a passage, or make them",
        "--config": "File with the options of all steps",
        "--edits": "Corrections of the review page",
        "--families": "Families of models and systems",
        "--fill-holes": "Qrels whose judgments are kept",
        "--from": "Format of the input, in `import` with its file",
        "--games": "Games file; in `run`, whether answers play games",
        "--measure-file": "File with measures of your own",
        "--method-name": "Where the name of a run's system comes from",
        "--official": "Official leaderboard",
        "--columns": "Columns of tables that have other names",
        "--outside": "Files outside the folder of the study, too",
        "--pairs": "Sample of pairs that people label",
        "--param": "Value of a parameter of the SQL",
        "--passages": "Passages file that the input belongs to, or that gives texts or the order",
        "--pool": "Queries that are written before the new ones",
        "--prompt-file": "File with your own prompt",
        "--qrels": "Manual judgments",
        "--queries": "File of queries: their texts, or only these queries",
        "--run-types": "Type of each run",
        "--reviewer": "Name of the reviewer",
        "--runs": "Run file, or folder of run files",
        "--split-lines": "Entries of a bank that share a cell",
        "--since": "Earlier version of the bank",
        "--scores": "Leaderboard or other file of scores",
        "--texts": "Texts of the passages",
        "--unit": "Part of an answer that becomes a passage",
    },
    "Model and prompt": {
        "--answers-cite": "Say in the prompt that answers cite documents",
        "--answer-match": "Comparison of extracted answers with gold answers",
        "--factors": "Factors that a judge of two answers considers",
        "--base-url": "URL of the endpoint",
        "--device": "Device of the model",
        "--threads": "Number of CPU threads",
        "--reply": "Write the reply, or choose the likeliest label",
        "--style": "Style of the answers",
        "-M": "Setting of the model",
        "--model": "Model that is asked",
        "--model-pipeline": "Backend of the model",
        "--prompt": "Prompt: to ask with, or only grades with this prompt",
        "--repairs": "Number of retries after a reply that cannot be read",
        "--soft": "Soft grades (probabilities)",
        "--trust-remote-code": "Run code from the files of a model",
        "--unparsed": "Reading of replies without a number or verdict",
    },
    "Filter": {
        "--grader": "Only grades by this model or reviewer",
        "--limit": "Maximum number of rows that a report lists",
        "--max-passages": "Maximum number of passages per query",
        "--max-queries": "Maximum number of queries",
        "--max-windows": "Number of windows to draw from documents",
        "--only": "Only passages, games or rows with this property, or only this part",
        "--query": "Only this query, by its id",
        "--grades": "Only grades with this property",
        "--shard": "Part of the work of a job",
        "--system": "Only this system",
        "--without": "All systems but this one",
    },
    "Method": {
        "--both-orders": "Compare answers in both orders",
        "--baseline": "System to which others are compared",
        "--by": "What to draw, split or compare by",
        "--canary": "Canary to add",
        "--count": "How many to write or to draw",
        "--cutoff": "Depth to which rankings are evaluated",
        "--drop-negative": "Leave out entries with a weight of 0 or below",
        "--evidence": "Contents of the documents beside answers",
        "--facets": "Queries, their facets, or their entries",
        "--metric": "What to score in answers",
        "--games-per-query": "Number of pairs of systems per query",
        "--head-to-head": "Compare every two systems by their games",
        "--importance": "Weight of the entries with an importance",
        "--keep": "Maximum number of nuggets or questions to keep",
        "--kind": "Questions, or their answers as nuggets",
        "--label": "How grades become a label",
        "--label-rule": "Rule that makes a label of ratings",
        "--elo": "Setting of Elo",
        "--max-drop": "Largest drop of the mean that is accepted",
        "--max-rating": "Highest rating of the scale",
        "--measure": "Measure on runs, or rating by games",
        "--min-answers": "Lowest number of entries that a passage covers",
        "--min-grade": "Lowest grade that counts",
        "--min-judgment": "Lowest judgment that counts",
        "--missing-queries": "Score for a query without results",
        "--propose": "Signs for which removals are proposed",
        "--rule": "How ratings of several graders become one rating",
        "--same-text-is-tie": "Answers with the same words tie without a model call",
        "--role": "Retrieved passages of systems, or their answers",
        "--canaries": "Canaries and other artificial systems, too",
        "--secret": "Share of secret entries",
        "--sources": "Passages against which a part of an answer is scored",
        "--tie-margin": "Largest difference of scores that is a tie",
        "--top": "Depth of the pool, or of canaries",
    },
    "Statistics": {
        "--intervals": "Confidence intervals",
        "-S": "Setting of statistics and thresholds",
        "--seed": "Seed of random numbers",
        "--significance": "Significance letters",
        "--test": "Statistical test",
        "--undecided": "Result if the queries are too few to decide",
        "--worst-drop": "Largest possible change of the score of one query",
    },
    "Interrupted runs": {
        "--journal": "File that keeps the replies",
        "--max-tokens-total": "Stop before more tokens are used",
        "--regrade": "Ask again for grades that exist",
        "--retry-failed": "Send failed requests again",
        "--to-batch": "Batch files in place of calls",
    },
    "Output": {
        "--again": "Grade a sample again, and count what changes",
        "--also": "File to write, too",
        "--blind": "Hide grades and systems until the reviewer has rated",
        "--name": "Name of the system, grader or condition to write",
        "--new-address": "Another address of the page",
        "--no-open": "Open no browser",
        "--port": "Port of the page",
        "--format": "Format of the report or table",
        "--output": "File or folder to write",
        "--per-query": "Scores of each query",
        "--plan": "Estimate what the work needs instead of doing it",
        "--plot": "Figure to draw, too",
        "--remove": "Part of a passages file to remove",
        "--rename": "New names in the file",
        "--review": "Write the review page, too",
        "--save": "Database to write of all tables",
        "--test-collection": "Name of the collection that the bank stores",
        "--to": "Format to write",
    },
    "Checks and messages": {
        "--help": "Show the help",
        "--help-all": "Show the help with all options",
        "--force": "Accept edits or pairs made for another version",
        "--quiet": "Log only warnings and errors",
        "--repair": "Drop repeated lines, and lines and passages without a text",
        "--strict": "Differences or warnings are errors",
        "--verbose": "Log more",
    },
}
"""Section to option to its meaning in all commands. A command has further details in its own help text."""

ADVANCED = frozenset(
    (
        "--answer-match",
        "--answers-cite",
        "--both-orders",
        "--canaries",
        "--evidence",
        "--facets",
        "--factors",
        "--families",
        "--fill-holes",
        "--force",
        "--head-to-head",
        "--journal",
        "--max-queries",
        "--max-tokens-total",
        "--method-name",
        "--missing-queries",
        "--pool",
        "--propose",
        "--quiet",
        "--reply",
        "--repairs",
        "--retry-failed",
        "--role",
        "--run-types",
        "--same-text-is-tie",
        "--seed",
        "--shard",
        "--soft",
        "--sources",
        "--test-collection",
        "--threads",
        "--tie-margin",
        "--to-batch",
        "--trust-remote-code",
        "--unparsed",
        "--verbose",
    )
)
"""Options that ``--help`` leaves to ``--help-all`` in commands with more than :data:`MAX_SHOWN` options."""
MAX_SHOWN = 20

REPEATABLE_ONLY_IN = {
    "--base-url": "in `grade-panel`, for the servers of the graders",
    "--bank": "where several banks make sense; in `evaluate nuggets` and `analyze correlation`, for each "
    "file; in `diff`, for each grading",
    "--from": "in `import`, with a file",
    "--grader": "in `evaluate cover`, `evaluate qrels` and `evaluate elo`, for columns of each; "
    "in `analyze graders` and `sample-pairs`, to compare these; in `diff`, for each grading; in `consensus` "
    "and `analyze panel`, for the members",
    "--measure": "except in `convert`, which ranks by one measure",
    "--min-answers": "in `analyze agreement`, for several tables",
    "--min-grade": "where several thresholds give columns or rows",
    "--prompt": "in `grade`, to ask with several prompts; in `diff`, for each grading; in "
    "`evaluate cover`, `evaluate qrels` and `evaluate elo`, for columns of each; in `consensus` and "
    "`analyze panel`, for the members",
    "--prompt-file": "except in `show`, `verify-answers` and `grade --closed-book`, which use one",
    "--qrels": "in `import`, which stores several judgments of a passage",
    "--queries": "in `query`, which holds several files",
    "--system": "except in `convert --to candidates`, which writes one ranking; in `gate`, for each version",
}
"""Options that only some commands accept several times, with the rule."""

_SECTION_OF = {option: section for section, options in OPTIONS.items() for option in options}


def section_of(option: str, options: Collection[str]) -> str:
    """The section of an option in the help of a command with these options.

    Raises KeyError for an option that :data:`OPTIONS` lacks.
    """
    section = _SECTION_OF[option.partition(" ")[0]]
    if section == "Model and prompt" and "--model" not in options:  # the command reads grades of a model
        return "Filter" if option == "--prompt" else "Method"
    return section


def meaning_of(option: str) -> str:
    """The meaning of an option in all commands; raises KeyError for one that :data:`OPTIONS` lacks."""
    return OPTIONS[_SECTION_OF[option]][option]
