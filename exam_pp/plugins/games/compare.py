"""Games: which of two answers to a query is better, as one request to a model or by a rule without a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, combinations, islice
from math import comb
from pathlib import Path
from typing import Any, Literal, NamedTuple

from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.games import WINNERS, DecidedBy, Game, GameSet, QueryGames, Winner
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.graders.base import Grading
from exam_pp.graders.make import RATING_TOKENS
from exam_pp.llm.base import LLM, ModelOptions, PairScorer
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion, Request
from exam_pp.metrics.fair_sample import draw
from exam_pp.phases.grading.grade import DECISIVE
from exam_pp.phases.grading.grading_run import (
    CHAT_PIPELINES,
    Advance,
    GradeFiles,
    no_answers,
    open_journal,
    prepare_llm,
)
from exam_pp.phases.grading.scheduler import (
    WINDOW_REQUESTS,
    Answer,
    Answerer,
    results_in_windows,
)
from exam_pp.plugins.games.prompts import FACTORS, LETTER, PAIRWISE_ANSWERS, Evidence, pairwise_answers
from exam_pp.prompts.base import DOCUMENTS_SLOT, NO_DOCUMENTS, Prompt, Unparsed
from exam_pp.prompts.markup import without_thinking
from exam_pp.roles import System, SystemOutput, outputs_of, role_of
from exam_pp.store.files import check_output
from exam_pp.store.games_files import read_games, write_games
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.text.wording import counted, listed


@dataclass(frozen=True)
class Document:
    """A document beside the answers, with the label and the reason of a direct grade if it has one."""

    passage_id: str
    text: str
    label: int | None = None
    reason: str | None = None

    def shown(self, evidence: Evidence) -> str:
        """The id, then the text and the reason, as ``evidence`` says; empty if both are missing."""
        text = self.text.strip() if evidence in ("text", "both") else ""
        reason = (self.reason or "").strip() if evidence in ("reason", "both") else ""
        if evidence == "both" and text and reason:
            reason = f"Reason: {reason}"
        content = "\n".join(part for part in (text, reason) if part)
        return f"[{self.passage_id}] {content}" if content else ""


@dataclass(frozen=True)
class PairUnit:
    """A game to play: two answers to a query, with documents, best first.

    ``order`` is 1 or 2 if the answers are compared in both orders.
    """

    query_id: str
    query_text: str
    a: SystemOutput
    b: SystemOutput
    documents: Sequence[Document] = ()
    order: Literal[1, 2] | None = None


@dataclass(frozen=True)
class PairGrader:
    """Decides games with a prompt of the kind ``pair``, in one request each.

    ``same_text_is_tie``: Whether two answers with the same words tie without a call. ``max_new_tokens``:
    Maximum number of tokens in a reply.
    """

    prompt: Prompt
    evidence: Evidence = "text"
    factors: str = FACTORS
    unparsed: Unparsed = "ungraded"
    choose: bool = False
    same_text_is_tie: bool = False
    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS

    def run(self, unit: PairUnit) -> Grading[Game]:
        """Play the game; an empty answer loses against a text without a request, and two of them tie."""
        decided = self._without_call(unit)
        if decided is not None:
            winner, rule = decided
            return self._game(unit, winner=winner, decided_by=rule)
        request = self._request(unit)
        (reply,) = yield [request]
        return self._played(unit, request, reply)

    def asks(self, unit: PairUnit) -> bool:
        """Whether the game needs a request."""
        return self._without_call(unit) is None

    def _without_call(self, unit: PairUnit) -> tuple[Winner, DecidedBy] | None:
        words_a, words_b = unit.a.text.split(), unit.b.text.split()
        if not words_a or not words_b:
            winner: Winner = "A" if words_a else "B" if words_b else "C"
            return winner, "empty answer"
        return ("C", "same text") if self.same_text_is_tie and words_a == words_b else None

    def _request(self, unit: PairUnit) -> Request:
        shown = [text for document in unit.documents if (text := document.shown(self.evidence))]
        values = {
            "query": unit.query_text,
            DOCUMENTS_SLOT: "\n".join(shown) or NO_DOCUMENTS,
            "answer_a": unit.a.text,
            "answer_b": unit.b.text,
            "factors": self.factors,
        }
        labels = self.prompt.labels if self.choose else ()
        return Request(self.prompt.render(values), labels, self.max_new_tokens)

    def _played(self, unit: PairUnit, request: Request, reply: Completion) -> Game:
        fields: dict[str, Any] = {"answer": reply.text}
        if reply.tokens_cut:
            fields["tokens_cut"] = reply.tokens_cut
        verdict = self.prompt.verdict(reply, None, self.unparsed)
        if verdict.rating is not None:
            decided: DecidedBy = "choice" if self.choose else "reply"
            return self._game(unit, winner=WINNERS[verdict.rating], decided_by=decided, **fields)
        fields["error"] = {"response": reply.text, "prompt": request.text, "failure_reason": verdict.reason}
        return self._game(unit, **fields)

    def _game(self, unit: PairUnit, **fields: Any) -> Game:
        places = {"repeat_a": unit.a.repeat, "repeat_b": unit.b.repeat, "order": unit.order}
        return Game(
            system_a=unit.a.system,
            system_b=unit.b.system,
            **{key: value for key, value in places.items() if value is not None},
            words_a=len(unit.a.text.split()),
            words_b=len(unit.b.text.split()),
            **fields,
        )


Pair = tuple[str, str]
"""Two systems, in the order of their names."""


class PlannedGame(NamedTuple):
    """A game before it is played: the answers in place A and in place B.

    ``order`` is 1 or 2 if both orders are played; else None.
    """

    a: System
    b: System
    order: Literal[1, 2] | None = None


def drawn_pairs(
    systems: Collection[str], query_id: str, seed: int, games_per_query: int | None = None
) -> list[Pair]:
    """The pairs of systems that play for a query, by name.

    ``games_per_query``: Number of pairs to draw; None for all.
    """
    pairs = combinations(sorted(systems), 2)
    if games_per_query is None or games_per_query >= comb(len(systems), 2):
        return list(pairs)
    return sorted(nsmallest(games_per_query, pairs, key=lambda pair: draw(seed, "pair", query_id, *pair)))


def planned_games(
    pair: Pair, query_id: str, repeats: Mapping[str, Sequence[int | None]], seed: int, both_orders: bool
) -> list[PlannedGame]:
    """The games of a pair for a query: one with drawn places, or one in each order."""
    first, second = (
        System(
            system, repeats[system][int(draw(seed, "repeat", query_id, *pair, system) * len(repeats[system]))]
        )
        for system in pair
    )
    if draw(seed, "place", query_id, *pair) < 0.5:
        first, second = second, first
    if both_orders:
        return [PlannedGame(first, second, 1), PlannedGame(second, first, 2)]
    return [PlannedGame(first, second)]


@dataclass(frozen=True)
class DocumentRule:
    """Labels and reasons of documents, and the lowest label of a document that is shown.

    ``selector``: Selects the direct grades that hold labels and reasons; None for no grades.
    ``min_relevance``: The lowest label; None shows all documents.
    """

    selector: GradeSelector | None = None
    min_relevance: int | None = None

    def document(self, passage: Passage) -> Document:
        """The passage with its label and reason."""
        label, reason = None, None
        for grades in self.selector.select(passage) if self.selector else ():
            label = grades.entry_ratings().get(DIRECT_ID, label)
            if isinstance(grades, DirectGrade) and grades.answer is not None:
                reason = without_thinking(grades.answer)
        return Document(passage.passage_id, passage.text, label, reason)

    def keeps(self, document: Document, query_id: str) -> bool:
        """Whether the document is shown; raises :class:`SelectionError` for a document without a label."""
        if self.min_relevance is None:
            return True
        if document.label is None:
            raise SelectionError(
                f"The document {document.passage_id!r} of the query {query_id!r} has no label, which "
                "--min-judgment needs; grade it with `exam-pp grade` and a direct prompt, or leave out "
                "--min-judgment."
            )
        return document.label >= self.min_relevance


@dataclass
class Contest:
    """The answers of systems to a query.

    ``answers``: System and repeat to the answer with its passages; empty answers are included. ``shared``:
    Passages of the query without rankings and judgments, such as documents of RAGElo's files without agents.
    They are the documents of a game if its systems retrieved and cite no passages.
    """

    query_id: str
    query_text: str
    answers: dict[System, SystemOutput]
    shared: list[Passage] = field(default_factory=list)
    rule: DocumentRule = field(default_factory=DocumentRule)

    @property
    def repeats(self) -> dict[str, list[int | None]]:
        """System to its repeats that answered, in order."""
        repeats: dict[str, list[int | None]] = {}
        for system, repeat in sorted(self.answers, key=lambda key: (key.name, key.repeat or 0)):
            repeats.setdefault(system, []).append(repeat)
        return repeats

    def unit(self, game: PlannedGame) -> PairUnit:
        """The answers of a game, with the documents of both systems."""
        a, b = self.answers[game.a], self.answers[game.b]
        documents = [self.rule.document(passage) for passage in pooled([a, b]) or self.shared]
        return PairUnit(
            self.query_id,
            self.query_text,
            a,
            b,
            [document for document in documents if self.rule.keeps(document, self.query_id)],
            game.order,
        )


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


def contest_of(
    query: QueryPassages, texts: Mapping[str, str], systems: Collection[str], rule: DocumentRule
) -> Contest:
    """The contest of a query.

    ``systems``: The systems that play; empty for all. Returns the contest with all answers, also empty ones.
    """
    answers = {
        key: output
        for key, output in outputs_of(query).items()
        if output.answered and (not systems or output.system in systems)
    }
    for output in answers.values():
        _check_single(query.query_id, output)
    shared = [passage for passage in query.passages if not passage.rankings and not passage.judgments]
    return Contest(query.query_id, texts.get(query.query_id) or query.query_text, answers, shared, rule)


def _check_single(query_id: str, output: SystemOutput) -> None:
    """Raise SelectionError if parts of an answer have the same rank, or one of them is a whole answer."""
    whole = f"{output.name}/{query_id}"
    ranks: dict[int, str] = {}
    for passage, _ in output.parts:
        other = ranks.setdefault(_rank(query_id, passage, output), passage.passage_id)
        if other != passage.passage_id or (passage.passage_id == whole and len(output.parts) > 1):
            raise SelectionError(
                f"The system {output.name!r} has two answers to the query {query_id!r}, which cannot be "
                f"distinguished (see {passage.passage_id!r}); import them as repeats or as two systems."
            )


def _rank(query_id: str, passage: Passage, output: SystemOutput) -> int:
    """The best rank of a part in an answer."""
    return min(
        entry.rank
        for entry in passage.rankings
        if entry.method == output.system
        and entry.repeat in (None, output.repeat)
        and role_of(query_id, passage.passage_id, entry) == "answer"
    )


_IDENTITY = ("prompt_class", "prompt_hash", "evidence", "factors", "unparsed", "min_relevance", "reasons_by")
"""Keys of ``prompt_info`` that games of the same judge share."""


Played = tuple[PlannedGame, Game]
"""A planned game that the games file has."""


@dataclass(frozen=True)
class GamesJudge:
    """A model with a prompt, as games record it, and its games in the games file."""

    grader: PairGrader
    model: str
    model_options: dict[str, Any]
    prompt_info: dict[str, Any]
    known: Mapping[str, QueryGames] = field(default_factory=dict)

    def played(self, query_id: str, plans: Iterable[PlannedGame]) -> list[Played]:
        """The planned games that have a winner in the games file.

        A game has the same repeats. If both orders are played, it also has the same places.
        """
        line = self.known.get(query_id)
        sets = [of_set for of_set in line.game_sets if self._made(of_set)] if line else []
        games = [game for of_set in sets for game in of_set.games]
        by_places = {(game.a, game.b): game for game in games if game.winner is not None}
        played = []
        for plan in plans:
            game = by_places.get((plan.a, plan.b))
            if game is None and plan.order is None:
                game = by_places.get((plan.b, plan.a))
            if game is not None:
                played.append((plan, game))
        return played

    def line(self, contest: Contest, new: Sequence[Game], played: Iterable[Played] = ()) -> QueryGames:
        """The line of the query with its new games, and all games of the games file.

        New games replace ungraded ones of this judge. Games that were played before get the order of the
        plan.
        """
        query_id = contest.query_id
        ordered = {
            id(game): game.model_copy(update={"order": plan.order})
            for plan, game in played
            if plan.order is not None and game.order is None
        }
        again = {(game.a, game.b) for game in new}
        sets = []
        line = self.known.get(query_id)
        for of_set in line.game_sets if line else ():
            if self._made(of_set):
                kept = [
                    ordered.get(id(game), game)
                    for game in of_set.games
                    if game.winner is not None or (game.a, game.b) not in again
                ]
                sets.append(of_set.model_copy(update={"games": kept}))
            else:
                sets.append(of_set)
        if new:
            sets = self._with_new(sets, list(new))
        if line is not None:
            return line.model_copy(update={"game_sets": [of_set for of_set in sets if of_set.games]})
        return QueryGames(query_id=query_id, query_text=contest.query_text, game_sets=sets)

    def _with_new(self, sets: list[GameSet], new: list[Game]) -> list[GameSet]:
        """The sets with the new games, in the set with the same metadata or in a new one."""
        metadata = (self.model, self.model_options, self.prompt_info)
        for number, of_set in enumerate(sets):
            if (of_set.model, of_set.model_options, of_set.prompt_info) == metadata:
                extended = of_set.model_copy(update={"games": [*of_set.games, *new]})
                return [*sets[:number], extended, *sets[number + 1 :]]
        own = GameSet(
            model=self.model,
            model_options=self.model_options,
            prompt_info=self.prompt_info,
            prompt_type="pair",
            games=new,
        )
        return [*sets, own]

    def _made(self, of_set: GameSet) -> bool:
        """Whether this model played the games with this prompt and with options that change no reply."""
        info, options = of_set.prompt_info or {}, of_set.model_options or {}
        return (
            of_set.model == self.model
            and all(info.get(key) == self.prompt_info.get(key) for key in _IDENTITY)
            and all(options.get(key) == self.model_options.get(key) for key in DECISIVE)
        )


@dataclass(frozen=True)
class CompareFiles(GradeFiles):
    """The files of a comparison; ``games`` is a games file that the new games extend."""

    games: Path | None = None

    @property
    def inputs(self) -> list[Path]:
        """The input files."""
        return [*super().inputs, *([self.games] if self.games is not None else [])]


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison.

    ``prompt``: A prompt of the kind ``pair``; None for that of the paper. ``evidence``: Contents of the
    documents in the prompt; None for their texts. ``factors``: The factors that the judge considers; None for
    those of the paper. ``min_relevance``: The lowest label of documents in the prompt; None shows all.
    ``systems``: Names of the systems that play; empty for all. ``max_queries``: Number of queries from the
    beginning of the file; None for all. ``games_per_query``: Number of pairs that are drawn for each query;
    None for all pairs. ``same_text_is_tie``: Whether answers with the same words tie without a call.
    """

    prompt: Prompt | None = None
    evidence: Evidence | None = None
    answers_cite: bool = False
    factors: str | None = None
    min_relevance: int | None = None
    reasons: GradeFilter | None = None
    systems: Sequence[str] = ()
    max_queries: int | None = None
    games_per_query: int | None = None
    both_orders: bool = False
    seed: int = 0
    same_text_is_tie: bool = False
    unparsed: Unparsed = "ungraded"

    def resolved(self) -> CompareOptions:
        """The options with their defaults; raises :class:`SelectionError` for those without an effect."""
        prompt = self.prompt or PAIRWISE_ANSWERS
        if prompt.kind != "pair":
            raise SelectionError(
                f"The prompt {prompt.name!r} does not compare answers; its kind is {prompt.kind!r}."
            )
        if prompt is PAIRWISE_ANSWERS:
            evidence = self.evidence or "text"
            prompt = pairwise_answers(evidence, self.answers_cite)
        else:
            shows = DOCUMENTS_SLOT in prompt.slots
            evidence = self.evidence or ("text" if shows else "none")
            if self.answers_cite:
                raise SelectionError(
                    f"--answers-cite changes a sentence of {PAIRWISE_ANSWERS.name}, not of the prompt "
                    f"{prompt.name!r}."
                )
            if evidence != "none" and not shows:
                raise SelectionError(
                    f"--evidence has no effect: the prompt {prompt.name!r} has no placeholder {{documents}}."
                )
        if self.factors is not None and "factors" not in prompt.slots:
            raise SelectionError(
                f"--factors has no effect: the prompt {prompt.name!r} has no placeholder {{factors}}."
            )
        if self.min_relevance is not None and evidence == "none":
            raise SelectionError("--min-judgment has no effect, because the prompt shows no documents.")
        return replace(self, prompt=prompt, evidence=evidence, factors=self.factors or FACTORS)


@dataclass
class CompareSummary:
    """Counts of games.

    ``without_call``: New games that a rule decided without a model call, by rule. ``reused``: Games of the
    same judge that were not played again. ``without_text``: Queries without a text, which have no games.
    ``unknown``: Systems of the games file without one.
    """

    queries: int = 0
    winners: Counter[str] = field(default_factory=Counter)
    without_call: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    reused: int = 0
    kept: int = 0
    shortened: int = 0
    without_text: list[str] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)
    asked: int = 0
    output: str = ""

    @property
    def graded(self) -> int:
        """New games with a winner, or a tie."""
        return self.winners.total() + self.without_call.total()

    @property
    def new(self) -> int:
        """New games, also ungraded ones."""
        return self.graded + self.reasons.total()

    def add(self, game: Game) -> None:
        """Count a new game."""
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
            won, lost = self.winners["A"], self.winners["B"]
            share = f": place A wins {won / (won + lost):.0%} of the games without ties" if won + lost else ""
            yield f"Place A wins {won}, place B {lost}, ties {self.winners['C']}{share}."
        for rule, count in self.without_call.most_common():
            yield f"Without a model call: {count} × {rule}."
        for reason, count in self.reasons.most_common():
            yield f"Ungraded: {count} × {reason}."
        if self.shortened:
            yield f"{counted(self.shortened, 'game has', 'games have')} documents shortened to fit the model."
        if self.kept:
            yield f"{counted(self.kept, 'other game')} kept."
        if self.unknown:
            systems = counted(len(self.unknown), "system that has", "systems that have")
            yield f"Kept games name {systems} no answer in the passages: {listed(self.unknown)}."
        if self.without_text:
            queries = counted(len(self.without_text), "query", "queries")
            yield f"No games for {queries} without a text: {listed(self.without_text)}."
        yield f"Wrote {self.output}."


def compare(
    files: CompareFiles,
    model: ModelOptions,
    options: CompareOptions,
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
    check_output(files.output, files.inputs)
    options = options.resolved()
    texts = {} if files.queries is None else read_query_texts(files.queries)
    known = {} if files.games is None else {query.query_id: query for query in read_games(files.games)}
    rule = _document_rule(files, options)
    llm = prepare_llm(model, files)
    judge = make_judge(llm, model, options, rule, known)
    summary = CompareSummary(output=str(files.output))
    with open_journal(files) as journal:
        answer = Answerer(llm, journal, lambda count: advance(count, None))
        contests = _contests(files, texts, options, rule, summary)
        lines = compared(contests, answer, judge, options, summary)
        write_games(_with_others(lines, known, summary), files.output, inputs=files.inputs)
        summary.asked = answer.asked
    if not options.systems and options.max_queries is None:
        summary.unknown = sorted(_systems_of(known.values()) - summary.answered)
    return summary


def play(
    answers: Path, output: Path, journal: Path, queries: Path | None, model: ModelOptions, advance: Advance
) -> Iterator[str]:
    """Play all games between answers with the prompt of the paper; returns the summary."""
    files = CompareFiles(answers, output, journal=journal, queries=queries)
    return compare(files, model, CompareOptions(), advance).lines()


def make_judge(
    llm: LLM,
    model: ModelOptions,
    options: CompareOptions,
    rule: DocumentRule | None = None,
    known: Mapping[str, QueryGames] | None = None,
) -> GamesJudge:
    """The judge for a loaded model; raises SelectionError for a model that cannot compare answers."""
    if isinstance(llm, PairScorer):
        raise SelectionError(
            "Answers are compared by a language model; a classifier of pairs scores claims, with `exam-pp "
            "grade`."
        )
    prompt, evidence, factors = (
        options.prompt or PAIRWISE_ANSWERS,
        options.evidence or "text",
        options.factors,
    )
    short = prompt.parse is LETTER and model.pipeline in CHAT_PIPELINES
    grader = PairGrader(
        prompt,
        evidence,
        factors or FACTORS,
        options.unparsed,
        model.choose,
        options.same_text_is_tie,
        RATING_TOKENS if short else DEFAULT_MAX_NEW_TOKENS,
    )
    recorded: dict[str, Any] = {
        "evidence": evidence,
        "factors": grader.factors if "factors" in prompt.slots else None,
        "unparsed": options.unparsed if options.unparsed != "ungraded" else None,
        "min_relevance": options.min_relevance,
        "reasons_by": list(rule.selector.key) if rule and rule.selector else None,
    }
    info = prompt.provenance() | {key: value for key, value in recorded.items() if value is not None}
    return GamesJudge(grader, llm.name, llm.provenance(), info, known or {})


def _document_rule(files: CompareFiles, options: CompareOptions) -> DocumentRule:
    """The labels and reasons of documents; their grades must be those of one model and one prompt."""
    if options.evidence in ("text", "none") and options.min_relevance is None:
        return DocumentRule()
    criteria = replace(options.reasons or GradeFilter(), kind="direct")
    selector = GradeSelector(criteria)
    for query in read_passages(files.passages):
        for passage in query.passages:
            selector.select(passage)
    selector.check(str(files.passages))
    return DocumentRule(selector, options.min_relevance)


def _contests(
    files: CompareFiles,
    texts: Mapping[str, str],
    options: CompareOptions,
    rule: DocumentRule,
    summary: CompareSummary,
) -> Iterator[Contest]:
    """The contests of all queries; raises SelectionError at the end if no query has two answers."""
    answered = summary.answered
    playable = 0
    for query in islice(read_passages(files.passages), options.max_queries):
        contest = contest_of(query, texts, options.systems, rule)
        answered.update(contest.repeats)
        if len(contest.repeats) > 1 and not contest.query_text.strip():
            summary.without_text.append(contest.query_id)
            contest.answers.clear()
        playable += len(contest.repeats) > 1
        yield contest
    if missing := [system for system in options.systems if system not in answered]:
        raise no_answers(files, missing)
    if not answered:
        raise no_answers(files, options.systems)
    if summary.without_text and not playable:
        raise SelectionError(
            f"{files.queries or files.passages} has no text for the queries in {files.passages}, such as "
            f"{summary.without_text[0]!r}; name a file with their texts with --queries."
        )
    if not playable:
        raise SelectionError(
            f"No query in {files.passages} has answers of two systems, only of {listed(sorted(answered))}."
        )


def compared(
    contests: Iterable[Contest],
    answer: Answer,
    judge: GamesJudge,
    options: CompareOptions,
    summary: CompareSummary,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[QueryGames]:
    """Yield the lines of the games file with the games of all drawn pairs; counts in ``summary``."""

    def tasks() -> Iterator[tuple[tuple[Contest, list[Played]], list[Grading[Game]], int]]:
        for contest in contests:
            plans = [
                plan
                for pair in drawn_pairs(
                    contest.repeats, contest.query_id, options.seed, options.games_per_query
                )
                for plan in planned_games(
                    pair, contest.query_id, contest.repeats, options.seed, options.both_orders
                )
            ]
            played = judge.played(contest.query_id, plans)
            summary.reused += len(played)
            summary.queries += bool(plans)
            done = {plan for plan, _ in played}
            units = [contest.unit(plan) for plan in plans if plan not in done]
            requests = sum(judge.grader.asks(unit) for unit in units)
            yield (contest, played), [judge.grader.run(unit) for unit in units], requests

    for (contest, played), games in results_in_windows(tasks(), answer, window_requests):
        for game in games:
            summary.add(game)
        yield judge.line(contest, games, played)


def _with_others(
    lines: Iterable[QueryGames], known: Mapping[str, QueryGames], summary: CompareSummary
) -> Iterator[QueryGames]:
    """The lines, then those of the games file for other queries; counts its other games in ``summary``."""
    written: set[str] = set()
    games = 0
    for line in chain(lines, (other for query_id, other in known.items() if query_id not in written)):
        written.add(line.query_id)
        games += sum(len(of_set.games) for of_set in line.game_sets)
        yield line
    summary.kept = games - summary.new - summary.reused


def _systems_of(lines: Iterable[QueryGames]) -> set[str]:
    games = (game for line in lines for of_set in line.game_sets for game in of_set.games)
    return {system for game in games for system in (game.system_a, game.system_b)}
