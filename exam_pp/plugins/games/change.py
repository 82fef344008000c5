"""Selection, removal of parts and renaming in games files, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from exam_pp.cli.passages.remove_and_rename import (
    Changed,
    Changes,
    Renaming,
    StripOptions,
    Stripper,
    check_new_names,
    selects,
)
from exam_pp.data_model import is_canary, is_human
from exam_pp.errors import SelectionError
from exam_pp.games import EVALUATION, Game, GameSet, QueryGames
from exam_pp.grade_filter import GradeFilter
from exam_pp.models import Record
from exam_pp.phases.passages.filter import FilterOptions
from exam_pp.phases.passages.transform import Rewritten, Step, changed, in_turn
from exam_pp.store.games_files import is_games_file, read_games, write_games
from exam_pp.text.wording import counted

R = TypeVar("R", bound=Record)


def change_games(source: Path, output: Path, changes: Changes, inputs: Collection[Path]) -> Changed | None:
    """Write a games file with the changes; None if the source is another file."""
    if not is_games_file(source):
        return None
    removed: Counter[str] = Counter()
    step = in_turn(
        changes.needed(
            filter_games(source, changes.keep, changes.required_queries),
            strip_games(source, changes.remove, removed),
            rename_games(changes.renamed(source), changes.names),
        )
    )
    counts = Rewritten("game")
    write_games(changed(read_games(source), step, _number_of_games, counts), output, inputs=[source, *inputs])
    return Changed(counts, removed)


def _number_of_games(query: QueryGames) -> int:
    return sum(len(of_judge.games) for of_judge in query.game_sets)


def filter_games(
    source: Path, options: FilterOptions, required_queries: Collection[str] = ()
) -> Step[QueryGames]:
    """Keep the matching part of a games file, without queries and sets of games of which no game matches.

    ``systems`` keeps the games between these systems, or all games of a single one; the model, prompt class
    and prompt hash of the grade filter keep sets of games. The check raises :class:`SelectionError` if one
    of ``required_queries`` or of the systems is not in the file, or no game matches. An option for passages
    also raises it.
    """
    _refuse_options_for_passages(source, options)
    seen: set[str] = set()
    players: set[str] = set()
    judges: Counter[str] = Counter()

    def change(query: QueryGames) -> QueryGames | None:
        seen.add(query.query_id)
        for of_judge in query.game_sets:
            judges[judge_name(of_judge)] += len(of_judge.games)
            players.update(system for game in of_judge.games for system in (game.system_a, game.system_b))
        if options.queries is not None and query.query_id not in options.queries:
            return None
        sets = [
            _with_games(of_judge, [game for game in of_judge.games if _is_kept(game, options)])
            for of_judge in query.game_sets
            if options.grade_filter == GradeFilter() or selects(options.grade_filter, of_judge)
        ]
        kept = [of_judge for of_judge in sets if of_judge.games]
        return query.model_copy(update={"game_sets": kept}) if kept else None

    def check(counts: Rewritten) -> None:
        for noun, names, present in (("query", required_queries, seen), ("system", options.systems, players)):
            absent = [name for name in names if name not in present]
            if absent:
                raise SelectionError(f"{source} has no {noun} {absent[0]!r}.")
        if not counts.queries:
            listed = "; ".join(f"{name} ({counted(number, 'game')})" for name, number in judges.items())
            raise SelectionError(f"No game of {source} matches the filter. It has games of: {listed}.")

    return Step(change, check)


def _refuse_options_for_passages(source: Path, options: FilterOptions) -> None:
    criteria = options.grade_filter
    given = {
        "--role": options.role is not None,
        "--only judged": options.judged,
        "--min-judgment": options.min_judgment is not None,
        "--only graded and --only ungraded": options.graded is not None,
        "--min-grade": options.min_grade is not None,
        "--grades type": criteria.kind is not None,
        "--grades set": criteria.question_set is not None,
        "--grades choice": criteria.choice != GradeFilter().choice,
    }
    for option, is_given in given.items():
        if is_given:
            raise SelectionError(f"{source} is a games file, to which {option} does not apply; leave it out.")


def _is_kept(game: Game, options: FilterOptions) -> bool:
    """Whether a game is between the systems of a filter, or one of its single system."""
    players, systems = {game.system_a, game.system_b}, options.systems
    if not options.canaries and any(map(is_canary, players)):
        return False
    return not systems or players <= set(systems) or (len(set(systems)) == 1 and players >= set(systems))


def _with_games(of_judge: GameSet, games: list[Game]) -> GameSet:
    return of_judge if games == of_judge.games else of_judge.model_copy(update={"games": games})


def judge_name(of_judge: GameSet) -> str:
    """The model or person and the prompt class of a set of games as options, for messages."""
    prompt = "" if of_judge.prompt_class is None else f" --prompt {of_judge.prompt_class!r}"
    return f"--grader {of_judge.model or '(no model)'!r}{prompt}"


def rename_games(source: str, renaming: Renaming) -> Step[QueryGames]:
    """Give the models, prompt classes and systems of a games file other names.

    The check raises :class:`SelectionError` for an old name that is not in the file, and for a new name that
    would merge two judges or two systems.
    """
    judges: dict[tuple[str | None, str | None], None] = {}
    players: set[str] = set()

    def change(query: QueryGames) -> QueryGames:
        for of_judge in query.game_sets:
            judges[of_judge.model, of_judge.prompt_class] = None
            players.update(system for game in of_judge.games for system in (game.system_a, game.system_b))
        sets = [_renamed_set(of_judge, renaming) for of_judge in query.game_sets]
        return query.model_copy(update={"game_sets": sets})

    def check(_counts: Rewritten) -> None:
        models = {model for model, _ in judges if model is not None}
        classes = {prompt for _, prompt in judges if prompt is not None}
        graders = {
            f"{model} {prompt}": f"{renaming.models.get(str(model), model)} "
            f"{renaming.prompt_classes.get(str(prompt), prompt)}"
            for model, prompt in judges
        }
        check_new_names(source, renaming, models, classes, players, graders)

    return Step(change, check)


def _renamed_set(of_judge: GameSet, renaming: Renaming) -> GameSet:
    changes: dict[str, Any] = {}
    if (model := renaming.models.get(of_judge.model or "")) is not None:
        changes["model"] = model
    if (new_class := renaming.prompt_classes.get(of_judge.prompt_class or "")) is not None:
        changes["prompt_info"] = (of_judge.prompt_info or {}) | {"prompt_class": new_class}
    if renaming.systems:
        changes["games"] = [_renamed_game(game, renaming) for game in of_judge.games]
    return of_judge.model_copy(update=changes)


def _renamed_game(game: Game, renaming: Renaming) -> Game:
    names = {"system_a": game.system_a, "system_b": game.system_b}
    return game.model_copy(update={key: renaming.systems.get(name, name) for key, name in names.items()})


def strip_games(source: Path, options: StripOptions, dropped: Counter[str]) -> Step[QueryGames]:
    """Remove some parts of a games file, and count the removed parts of each type in ``dropped``.

    ``grades`` removes the sets of games that match the filter, ``human`` those of people, ``texts`` the texts
    of queries and the prompts, ``replies`` all text by models. Winners, failure reasons and numbers of words
    are kept. Raises :class:`SelectionError` if a part is not one of games files, or no set of games matches.
    """
    for part in ("judgments", "rankings"):
        if getattr(options, part):
            raise SelectionError(f"{source} is a games file, which has no {part}; leave out --remove {part}.")
    judges: Counter[str] = Counter()
    stripper = Stripper(options, dropped)

    def change(query: QueryGames) -> QueryGames:
        sets = []
        for of_judge in query.game_sets:
            judges[judge_name(of_judge)] += len(of_judge.games)
            if options.human and is_human(of_judge.model):
                dropped["sets of human games"] += 1
            elif options.grades is not None and selects(options.grades, of_judge):
                dropped["sets of games"] += 1
            else:
                games = [_stripped_game(game, stripper) for game in of_judge.games]
                sets.append(_with_games(of_judge, games))
        if options.texts and query.query_text:
            dropped["texts"] += 1
            query = _without(query, "query_text")
        return query.model_copy(update={"game_sets": sets})

    def check(_counts: Rewritten) -> None:
        if options.grades not in (None, GradeFilter()) and not dropped["sets of games"]:
            listed = "; ".join(judges)
            raise SelectionError(f"No games in {source} match the filter. The file has games of: {listed}.")

    return Step(change, check)


def _stripped_game(game: Game, stripper: Stripper) -> Game:
    replies = {"answer": game.answer, EVALUATION: (game.model_extra or {}).get(EVALUATION)}
    if stripper.options.replies and (present := [key for key, reply in replies.items() if reply]):
        stripper.dropped["replies"] += len(present)
        game = _without(game, *present)
    error = stripper.error(game.error)
    return game if error is game.error else game.model_copy(update={"error": error})


def _without(record: R, *keys: str) -> R:
    """Return a copy of a record without some keys of the file."""
    fields = record.model_dump(by_alias=True, exclude_unset=True)
    kept = {key: value for key, value in fields.items() if key not in keys}
    return type(record).model_validate(kept, by_alias=True, by_name=False)
