"""Games: which of two answers to a query is better, as one request to a model or by a rule without a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.games import WINNERS, DecidedBy, Game, GameSet, QueryGames, Winner
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.graders.base import Grading
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions, PairScorer
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Request
from exam_pp.metrics.fair_sample import draw
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.phases.grading.grading_run import (
    CHAT_PIPELINES,
    Advance,
    GradeFiles,
    no_answers,
    open_journal,
)
from exam_pp.phases.grading.scheduler import Answer, Answerer, results_in_windows
from exam_pp.plugins.games.prompts import FACTORS, LETTER, PAIRWISE_ANSWERS, Evidence, pairwise_answers
from exam_pp.prompts.base import DOCUMENTS_SLOT, NO_DOCUMENTS, Prompt, Unparsed
from exam_pp.prompts.markup import without_thinking
from exam_pp.roles import System, SystemOutput, outputs_of
from exam_pp.store.files import check_output
from exam_pp.store.games_files import read_games, write_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison.

    ``prompt``: A prompt of the kind ``pair``; None for that of the paper. ``evidence``: Contents of the
    documents; None for what the prompt shows. ``answers_cite``: Whether the prompt says that answers cite
    documents. ``factors``: What the judge considers; None for the factors of the paper. ``min_relevance``:
    Lowest label of documents; None shows all. ``systems``: Those that play; empty for all.
    ``games_per_query``: Number of pairs that are drawn for each query; None for all pairs.
    ``same_text_is_tie``: Whether answers with the same words tie without a call. ``games``: A games file;
    games with a winner that the same judge played in it are left out.
    """

    prompt: Prompt | None = None
    evidence: Evidence | None = None
    answers_cite: bool = False
    factors: str | None = None
    min_relevance: int | None = None
    systems: Sequence[str] = ()
    max_queries: int | None = None
    games_per_query: int | None = None
    both_orders: bool = False
    seed: int = 0
    same_text_is_tie: bool = False
    unparsed: Unparsed = "ungraded"
    games: Path | None = None

    def resolved(self) -> tuple[CompareOptions, Prompt]:
        """The options with the contents of documents, and the prompt.

        Raises :class:`SelectionError` for options without an effect.
        """
        prompt = self.prompt or PAIRWISE_ANSWERS
        if prompt.kind != "pair":
            raise SelectionError(
                f"The prompt {prompt.name!r} does not compare answers; its kind is {prompt.kind!r}."
            )
        shows = DOCUMENTS_SLOT in prompt.slots
        evidence: Evidence = self.evidence or ("text" if shows else "none")
        without_effect = {
            "--answers-cite": self.answers_cite and prompt is not PAIRWISE_ANSWERS,
            "--evidence": evidence != "none" and not shows,
            "--factors": self.factors is not None and "factors" not in prompt.slots,
            "--min-judgment": self.min_relevance is not None and evidence == "none",
        }
        for option, is_given in without_effect.items():
            if is_given:
                raise SelectionError(
                    f"{option} has no effect with the prompt {prompt.name!r} and --evidence {evidence}."
                )
        if prompt is PAIRWISE_ANSWERS:
            prompt = pairwise_answers(evidence, self.answers_cite)
        return replace(self, evidence=evidence), prompt


DEFAULTS = CompareOptions()
"""All pairs of systems, with the prompt of the paper."""


@dataclass(frozen=True)
class Documents:
    """What games show of documents, by the options; ``selector`` selects grades with labels and reasons."""

    options: CompareOptions
    selector: GradeSelector | None = None

    def shown(self, query_id: str, passage: Passage) -> str:
        """The id, then the text and the reason, as the options say; empty if nothing is shown.

        Raises :class:`SelectionError` for a document without a label, if the options need one.
        """
        label, reason = None, None
        for grades in self.selector.select(passage) if self.selector else ():
            label = grades.entry_ratings().get(DIRECT_ID, label)
            if isinstance(grades, DirectGrade) and grades.answer is not None:
                reason = without_thinking(grades.answer)
        lowest, evidence = self.options.min_relevance, self.options.evidence
        if lowest is not None and label is None:
            raise SelectionError(
                f"The document {passage.passage_id!r} of the query {query_id!r} has no label, which "
                "--min-judgment needs; grade it with `exam-pp grade` and a direct prompt, or leave out "
                "--min-judgment."
            )
        if lowest is not None and label is not None and label < lowest:
            return ""
        text = passage.text.strip() if evidence in ("text", "both") else ""
        reason = (reason or "").strip() if evidence in ("reason", "both") else ""
        content = f"{text}\nReason: {reason}" if text and reason else text or reason
        return f"[{passage.passage_id}] {content}" if content else ""


class PairUnit(NamedTuple):
    """A game to play: two answers to a query, and their documents as text.

    ``order`` is 1 or 2 if the answers are compared in both orders.
    """

    query_text: str
    a: SystemOutput
    b: SystemOutput
    documents: str = NO_DOCUMENTS
    order: Literal[1, 2] | None = None


@dataclass(frozen=True)
class PairGrader:
    """Decides games with a prompt of the kind ``pair``, in one request each.

    ``choose``: Whether the likeliest label decides. ``max_new_tokens``: Maximum number of tokens in a reply.
    """

    prompt: Prompt
    options: CompareOptions = DEFAULTS
    choose: bool = False
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, unit: PairUnit) -> Grading[Game]:
        """Play the game; an empty answer loses against a text without a request, and two of them tie."""
        if decided := self.without_call(unit):
            return _game(unit, winner=decided[0], decided_by=decided[1])
        values = {
            "query": unit.query_text,
            DOCUMENTS_SLOT: unit.documents,
            "answer_a": unit.a.text,
            "answer_b": unit.b.text,
            "factors": self.options.factors or FACTORS,
        }
        labels = self.prompt.labels if self.choose else ()
        request = Request(self.prompt.render(values), labels, self.max_new_tokens)
        (reply,) = yield [request]
        fields: dict[str, Any] = {"answer": reply.text}
        if reply.tokens_cut:
            fields["tokens_cut"] = reply.tokens_cut
        verdict = self.prompt.verdict(reply, None, self.options.unparsed)
        if verdict.rating is None:
            error = {"response": reply.text, "prompt": request.text, "failure_reason": verdict.reason}
            return _game(unit, **fields, error=error)
        decided_by: DecidedBy = "choice" if self.choose else "reply"
        return _game(unit, **fields, winner=WINNERS[verdict.rating], decided_by=decided_by)

    def without_call(self, unit: PairUnit) -> tuple[Winner, DecidedBy] | None:
        """The winner and the rule, if the game needs no request."""
        words_a, words_b = unit.a.text.split(), unit.b.text.split()
        if not words_a or not words_b:
            return "A" if words_a else "B" if words_b else "C", "empty answer"
        return ("C", "same text") if self.options.same_text_is_tie and words_a == words_b else None


def _game(unit: PairUnit, **fields: Any) -> Game:
    places = {"repeat_a": unit.a.repeat, "repeat_b": unit.b.repeat, "order": unit.order}
    return Game(
        system_a=unit.a.system,
        system_b=unit.b.system,
        **{key: value for key, value in places.items() if value is not None},
        words_a=len(unit.a.text.split()),
        words_b=len(unit.b.text.split()),
        **fields,
    )


def planned_games(
    answers: Iterable[SystemOutput], query_id: str, options: CompareOptions
) -> Iterator[tuple[SystemOutput, SystemOutput, Literal[1, 2] | None]]:
    """The games of a query as answers in place A and B, with the order if both orders are played.

    Pairs of systems, the repeats that play, and the places are drawn.
    """
    repeats: dict[str, list[SystemOutput]] = {}
    for output in sorted(answers, key=lambda output: (output.system, output.repeat or 0)):
        repeats.setdefault(output.system, []).append(output)
    pairs = list(combinations(sorted(repeats), 2))
    seed = options.seed
    if options.games_per_query is not None:
        drawn = nsmallest(options.games_per_query, pairs, lambda pair: draw(seed, "pair", query_id, *pair))
        pairs = sorted(drawn)
    for pair in pairs:
        first, second = (
            repeats[system][int(draw(seed, "repeat", query_id, *pair, system) * len(repeats[system]))]
            for system in pair
        )
        if draw(seed, "place", query_id, *pair) < 0.5:
            first, second = second, first
        yield first, second, 1 if options.both_orders else None
        if options.both_orders:
            yield second, first, 2


def pooled(outputs: Iterable[SystemOutput]) -> list[Passage]:
    """The retrieved and cited passages of several systems, each once, by their best rank.

    Equal ranks are in the order of the names of systems, so both orders of a game have the same documents.
    """
    ranked: dict[str, tuple[int, Passage]] = {}
    for output in sorted(outputs, key=lambda output: output.name):
        for rank, passage in enumerate(output.sources):
            best = ranked.get(passage.passage_id)
            if best is None or rank < best[0]:
                ranked[passage.passage_id] = (rank, passage)
    return [passage for _, passage in sorted(ranked.values(), key=lambda item: item[0])]


def games_of(
    query: QueryPassages, query_text: str, answers: Iterable[SystemOutput], documents: Documents
) -> Iterator[PairUnit]:
    """The games between answers to a query, with the documents of both systems.

    Systems without retrieved and cited passages share those without rankings and judgments, such as documents
    of RAGElo's files without agents.
    """
    shared = [passage for passage in query.passages if not passage.rankings and not passage.judgments]
    for a, b, order in planned_games(answers, query.query_id, documents.options):
        shown = (documents.shown(query.query_id, passage) for passage in pooled([a, b]) or shared)
        yield PairUnit(query_text, a, b, "\n".join(filter(None, shown)) or NO_DOCUMENTS, order)


@dataclass
class CompareSummary:
    """Counts of games.

    ``without_call``: Games that a rule decided without a model call, by rule. ``without_text``: Queries
    without a text, which have no games. ``systems``: Those with answers.
    """

    queries: int = 0
    winners: Counter[str] = field(default_factory=Counter)
    without_call: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    shortened: int = 0
    without_text: list[str] = field(default_factory=list)
    systems: set[str] = field(default_factory=set)
    asked: int = 0
    output: str = ""

    @property
    def graded(self) -> int:
        """Games with a winner, or a tie."""
        return self.winners.total() + self.without_call.total()

    def add(self, game: Game) -> None:
        """Count a game."""
        self.shortened += bool(game.tokens_cut)
        if game.winner is None:
            self.reasons[str((game.error or {}).get("failure_reason"))] += 1
        elif game.decided_by in ("reply", "choice"):
            self.winners[game.winner] += 1
        else:
            self.without_call[str(game.decided_by)] += 1

    def lines(self) -> Iterator[str]:
        """The summary, line by line."""
        yield (
            f"{counted(self.graded, 'game')} played, {self.reasons.total()} ungraded, {self.reused} played "
            f"before ({counted(self.queries, 'query')}, {counted(self.asked, 'model call')})."
        )
        if self.winners.total():
            won, lost, ties = (self.winners[place] for place in WINNERS)
            yield f"Place A wins {won}, place B {lost}, ties {ties}."
        for title, counts in (("Without a model call", self.without_call), ("Ungraded", self.reasons)):
            for reason, count in counts.most_common():
                yield f"{title}: {count} × {reason}."
        if self.shortened:
            yield f"{counted(self.shortened, 'game has', 'games have')} documents shortened to fit the model."
        if self.without_text:
            queries = counted(len(self.without_text), "query", "queries")
            yield f"No games for {queries} without a text: {listed(self.without_text)}."
        yield f"Wrote {self.output}."


def compare(
    files: GradeFiles,
    model: ModelOptions,
    options: CompareOptions = DEFAULTS,
    advance: Advance = lambda _steps, _total: None,
) -> CompareSummary:
    """Let a model play games between the answers in a passages file.

    Args:
        files: Passages with answers, texts of the queries, and the output; its journal continues an
            interrupted run.
        model: A language model.
        options: Prompt, documents and pairs.
        advance: Called with the number of finished requests.

    Returns:
        Counts for the summary.

    Raises:
        SelectionError: The file has no answers of two systems, a selected system has none, a document has no
            label, or the prompt does not fit.
        ModelError: The model cannot be loaded.
    """
    inputs = [*files.inputs, *([options.games] if options.games else [])]
    check_output(files.output, inputs)
    options, prompt = options.resolved()
    texts = {} if files.queries is None else read_query_texts(files.queries)
    documents = Documents(options, _reasons(files, options))
    llm = load_llm(model)
    if isinstance(llm, PairScorer):
        raise SelectionError(
            "Answers are compared by a language model; a classifier of pairs scores claims, with `exam-pp "
            "grade`."
        )
    short = prompt.parse is LETTER and model.pipeline in CHAT_PIPELINES
    limit = RATING_TOKENS if short else DEFAULT_MAX_NEW_TOKENS
    grader = PairGrader(prompt, options, model.choose, limit)
    made = GameSet(
        model=llm.name,
        model_options=llm.provenance(),
        prompt_info=_recorded(prompt, documents),
        prompt_type="pair",
        games=[],
    )
    summary = CompareSummary(output=str(files.output))
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        lines = _played(files, texts, answer, grader, documents, made, summary)
        write_games(lines, files.output, inputs=inputs)
        summary.asked = answer.asked
    return summary


def _reasons(files: GradeFiles, options: CompareOptions) -> GradeSelector | None:
    """The labels and reasons of documents, if games need them, of the only model and prompt in the file."""
    if options.evidence not in ("reason", "both") and options.min_relevance is None:
        return None
    selector = GradeSelector(GradeFilter(kind="direct"))
    for query in read_passages(files.passages):
        for passage in query.passages:
            selector.select(passage)
    selector.check(str(files.passages))
    return selector


def _recorded(prompt: Prompt, documents: Documents) -> dict[str, Any]:
    """What games record of their prompt and its texts."""
    options, selector = documents.options, documents.selector
    values: dict[str, Any] = {
        "evidence": options.evidence,
        "factors": (options.factors or FACTORS) if "factors" in prompt.slots else None,
        "unparsed": options.unparsed if options.unparsed != "ungraded" else None,
        "min_relevance": options.min_relevance,
        "reasons_by": list(selector.key) if selector else None,
    }
    return prompt.provenance() | {key: value for key, value in values.items() if value is not None}


def _known_games(made: GameSet, options: CompareOptions) -> Iterator[tuple[str, System, System]]:
    """Query and places of the games that the judge of ``made`` played before."""
    for line in () if options.games is None else read_games(options.games):
        for of_set in line.game_sets:
            recorded, own = of_set.model_options or {}, made.model_options or {}
            same_model = of_set.model == made.model and all(recorded.get(k) == own.get(k) for k in DECISIVE)
            for game in of_set.games if same_model and of_set.prompt_info == made.prompt_info else ():
                if game.winner is not None:
                    yield line.query_id, game.a, game.b
                    if not options.both_orders:
                        yield line.query_id, game.b, game.a


def _played(
    files: GradeFiles,
    texts: Mapping[str, str],
    answer: Answer,
    grader: PairGrader,
    documents: Documents,
    made: GameSet,
    summary: CompareSummary,
) -> Iterator[QueryGames]:
    """The lines of the games file; raises SelectionError at the end if no game is possible."""
    options = documents.options
    known = set(_known_games(made, options))

    def tasks() -> Iterator[tuple[tuple[str, str], list[Grading[Game]], int]]:
        for query in islice(read_passages(files.passages), options.max_queries):
            text = texts.get(query.query_id) or query.query_text
            answers = [
                output
                for output in outputs_of(query).values()
                if output.answered and (not options.systems or output.system in options.systems)
            ]
            systems = {output.system for output in answers}
            summary.systems |= systems
            if len(systems) > 1 and not text.strip():
                summary.without_text.append(query.query_id)
                answers = []
            planned = list(games_of(query, text, answers, documents))
            units = [unit for unit in planned if (query.query_id, unit.a.key, unit.b.key) not in known]
            summary.queries += bool(planned)
            summary.reused += len(planned) - len(units)
            requests = sum(grader.without_call(unit) is None for unit in units)
            yield (query.query_id, text), [grader.run(unit) for unit in units], requests

    for (query_id, text), games in results_in_windows(tasks(), answer):
        for game in games:
            summary.add(game)
        sets = [made.model_copy(update={"games": games})] if games else []
        yield QueryGames(query_id=query_id, query_text=text, game_sets=sets)
    missing = [system for system in options.systems if system not in summary.systems]
    if missing or not summary.systems:
        raise no_answers(files, missing)
    if not summary.queries and summary.without_text:
        raise SelectionError(
            f"{files.queries or files.passages} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}; name a file with their texts with --queries."
        )
    if not summary.queries:
        raise SelectionError(
            f"No query in {files.passages} has answers of two systems, only of "
            f"{listed(sorted(summary.systems))}."
        )
