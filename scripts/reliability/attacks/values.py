"""Attacks on values: duplicate keys, odd numbers, damaged journals, reports."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from time import process_time
from typing import Any

from exam_pp.cli.main import main as exam_pp
from exam_pp.errors import DataError
from exam_pp.llm import transport
from exam_pp.prompts.claims import CITATION_SUPPORT
from exam_pp.prompts.criteria import RAGELO, read_criteria
from exam_pp.prompts.pairwise import PAIRWISE_ANSWERS
from exam_pp.prompts.reasoner import REASONER
from exam_pp.store.trec.topics import parse_topics
from scripts.reliability.attacks.attack import Attack
from scripts.reliability.bit_flips import flip_conversion, flip_journal
from scripts.reliability.fuzz import Standard, inside
from scripts.reliability.good_files import GOOD, RATED, TARGETS, lay_out

_SECONDS = 5


def _run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process; returns exit code, standard output and standard error."""
    out, err, code = Standard(), Standard(), 0
    with inside(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            exam_pp(list(arguments))
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, out.content(), err.content()


# Values

_RANKING = '{"method":"a","paragraphId":"p1","queryId":"q1","rank":1,"score":1.0}'
_DATA = f'"paragraph_data":{{"rankings":[{_RANKING}]}}'


def doubled_keys(folder: Path) -> str:
    """Compact passages in which a member has any number of bytes, also the blanks of the usual spelling."""
    for length in range(1, 40):
        note = "x" * length
        line = f'["q1",[{{"paragraph_id":"p1","text":"t","{note}":1,{_DATA},"{note}":2}}]]'
        (folder / "in.jsonl").write_text(f"{line}\n", "utf-8")
        code, _, err = _run(folder, "-q", "rename", "in.jsonl", "--system", "a=b", "-o", "out.jsonl")
        if code != 1 or f"'{note}' twice" not in err or (folder / "out.jsonl").exists():
            return f"a doubled key of {length} characters: exit code {code}, {err!r}"
    return ""


_KEPT = (
    '{"paragraph_id":"p2", "text":"caf\\u00e9","n":0.1000000000000000055511151231257827,'
    '"n":[1e400 , -0,1.0, {"z":1,"a":NaN}]}'
)
"""A passage that no command of the attack changes."""


def odd_lines(folder: Path) -> str:
    """Lines with NaN or lone surrogates; a command changes one passage of each line."""
    for odd in ("NaN", "-Infinity", '"\\ud83d"', '{"\\udc00": 1}'):
        line = f'[ "q1",[{{"paragraph_id":"p1","text":"t","x":{odd},{_DATA}}},{_KEPT}] ]'
        (folder / "in.jsonl").write_text(f"{line}\n", "utf-8")
        code, _, err = _run(folder, "rename", "in.jsonl", "--system", "a=b", "-o", "out.jsonl")
        if code:
            return f"{odd}: {err}"
        written = (folder / "out.jsonl").read_text("utf-8")
        if _KEPT not in written or '"method": "b"' not in written:
            return f"{odd}: {written}"
        if ("replaced" in err) != ("\\u" in odd):
            return f"{odd}: {err!r}"
        (folder / "out.jsonl").unlink()
    return ""


def reread_twice(folder: Path) -> str:
    """Sets of grades whose replies are read as before, with unusual numbers and the order of keys."""
    query = json.loads(GOOD["graded.jsonl"].splitlines()[0])
    query[1] = query[1][:1]
    grades = query[1][0]["exam_grades"][0]
    ratings = [f'{{"question_id":"{key}","self_rating":{reply}}}' for key, reply in grades["answers"]]
    odd = (
        f'{{"z":1E2,"llm":"m","llm_options":{{"t":0.10,"t":1e400}},"correctAnswered":["q1/a"],'
        f'"wrongAnswered":["q1/b"],"answers":{json.dumps(grades["answers"])},"llm_response_errors":{{}},'
        f'"exam_ratio":0.50,"prompt_info":{{"prompt_class":"{RATED}","is_self_rated":true}},'
        f'"self_ratings":[{",".join(ratings)}],"prompt_type":"question","relevance_label":5}}'
    )
    query[1][0]["exam_grades"] = ["@"]
    text = json.dumps(query).replace('"@"', odd)
    (folder / "in.jsonl").write_text(f"{text}\n", "utf-8")
    code, out, err = _run(folder, "reread", "in.jsonl", "--prompt-class", RATED, "-o", "once.jsonl")
    written = (folder / "once.jsonl").read_text("utf-8") if code == 0 else ""
    if code or "0 changed" not in err or written != f"{text}\n":
        return f"exit code {code}, {out}{err}, {written}"
    return ""


def long_integers(folder: Path) -> str:
    """Integers of 5,000 digits in unknown keys, in all commands that copy."""
    lay_out(folder)
    digits = "7" * 5000
    text = GOOD["graded.jsonl"].replace('"two": null', f'"two": {digits}')
    (folder / "graded.jsonl").write_text(text, "utf-8")
    (folder / "other.jsonl").write_text(text.replace('"two": 7', '"two":7'), "utf-8")
    for target in TARGETS:
        if not target.keeps or target.file != "graded.jsonl":
            continue  # the fuzzer has such integers for all commands
        code, _, err = _run(folder, "-q", *shlex.split(target.command.format(target.file)))
        if code not in (0, 1) or (code and not err.startswith("exam-pp: ")):
            return f"{target.command}: exit code {code}, {err}"
        if code == 0 and digits not in (folder / "out").read_text("utf-8"):
            return f"{target.command}: the digits are lost"
        (folder / "out").unlink(missing_ok=True)
    return ""


# Files that exam_pp reads back


def journal_bits(folder: Path) -> str:
    """Random bit flips of a journal."""
    accepted = flip_journal(folder, 100)["accepted"]
    return f"{accepted} changed replies were accepted" if accepted else ""


def conversion_bits(folder: Path) -> str:
    """Random bit flips of a converted checkpoint."""
    accepted = flip_conversion(folder, 50)["accepted"]
    return f"{accepted} damaged checkpoints were used" if accepted else ""


# SQL


def times_in_sql(folder: Path) -> str:
    """Values that Python has no type for, or only with another package."""
    lay_out(folder)
    values = ("now()", "[now()]", "{'a': now()}", "interval '100000000 years'", "timetz '12:00:00+02'")
    for value in values:
        code, out, err = _run(
            folder, "query", "graded.jsonl", f"SELECT {value} AS t, 1 AS one", "--format", "csv"
        )
        if code or not out.startswith("t,one\n") or out.count("\n") != 2 or err:
            return f"{value}: exit code {code}, {out!r}, {err!r}"
    return ""


# Reports

_LINE = "INJECTED 0.999"
_HOSTILE = f"\n\n{_LINE}\n"


def _hostile(value: Any) -> Any:
    """The value with line ends in all texts that name something."""
    if isinstance(value, dict):
        return {key: _hostile(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hostile(item) for item in value]
    return value.replace("/", f"{_HOSTILE}/") + _HOSTILE if isinstance(value, str) else value


def lines_of_ids(folder: Path) -> str:
    """Ids, models, prompt classes and texts with line ends, in all commands that write a report."""
    lay_out(folder)
    for name in ("graded.jsonl", "other.jsonl", "bank.jsonl"):
        lines = [_hostile(json.loads(line)) for line in GOOD[name].splitlines()]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        for word in ("question", "nugget", "direct_grading"):
            text = text.replace(f'"prompt_type": {json.dumps(word + _HOSTILE)}', f'"prompt_type": "{word}"')
        (folder / name).write_text(text, "utf-8")
    for name in ("all.games.jsonl", "rated.jsonl"):
        text = "".join(f"{json.dumps(json.loads(line))}\n" for line in GOOD[name].splitlines())
        for named in ("a", "b", "m", "relevance", "Pairwise"):
            text = text.replace(f' "{named}"', f" {json.dumps(named + _HOSTILE)}")
            text = text.replace(f'"{named}": ', f"{json.dumps(named + _HOSTILE)}: ")
        (folder / name).write_text(text, "utf-8")
    files = ("graded.jsonl", "bank.jsonl", "all.games.jsonl", "rated.jsonl")
    commands = [target.command.format(target.file) for target in TARGETS if target.file in files]
    written = 0
    for number, command in enumerate(filter(_is_report, commands)):
        named_words = {"m"} if "rated.jsonl" in command else {"model", RATED}
        if "all.games.jsonl" in command:
            named_words = set()
        arguments = [f"{word}{_HOSTILE}" if word in named_words else word for word in shlex.split(command)]
        form = ("text", "md", "tsv")[number % 3]
        code, out, err = _run(folder, *arguments[:-2], "--format", form)
        written += code == 0
        lines = (out + err).splitlines()
        for line, before in zip(lines[1:], lines, strict=False):
            if line.lstrip("#> ").startswith(_LINE):
                return f"{command} --format {form}: {before!r}, {line!r}"
    return "" if written > 10 else f"only {written} reports were written"


_REPORTS = (
    "evaluate",
    "verify",
    "analyze",
    "diff",
    "bank clinic",
    "bank show",
    "bank stats",
    "bank lint",
    "query",
)


def _is_report(command: str) -> bool:
    return command.startswith(_REPORTS)


def formulas(folder: Path) -> str:
    """Cells that spreadsheets run as formulas, in CSV files for people and for other tools."""
    lay_out(folder)
    values = "('=1+1', -1), ('-cmd|x', -2.5), ('+x', 3), ('@x', 4), (chr(9) || '=x', 5), ('-7', 6)"
    sql = f"SELECT * FROM (VALUES {values})"
    code, out, err = _run(folder, "query", "graded.jsonl", sql, "--format", "csv")
    cells = list(csv.reader(out.splitlines()))[1:]
    expected = [["'=1+1", "-1"], ["'-cmd|x", "-2.5"], ["'+x", "3"], ["'@x", "4"], ["'\t=x", "5"], ["-7", "6"]]
    if code or cells != expected:
        return f"query: exit code {code}, {out!r}, {err!r}"
    (folder / "queries.jsonl").write_text('{"query_id": "q1", "query_text": "=1+1"}\n', "utf-8")
    code, _, err = _run(folder, "convert", "queries.jsonl", "--to", "ragelo-queries", "-o", "out.csv")
    if code or "1 cell begins like a formula" not in err:
        return f"convert: exit code {code}, {err!r}"
    return ""


def _read_body() -> None:
    with suppress(transport.BadReplyError):
        transport.parse_body(b'{"' + rb"\"" * 200_000)


_LEVELS = RAGELO.criteria
_REPLIES: Mapping[str, Callable[[str], object]] = {
    "verdicts": lambda reply: PAIRWISE_ANSWERS.parse(reply, None, "chat"),
    "relevance labels": lambda reply: REASONER.parse(reply, None, "ungraded"),
    "criteria": lambda reply: read_criteria(reply, _LEVELS),
}
_UNITS = (
    *("[", "[[", "[[A", "[[A]", "[[A]]", "{", '{"', '{"relevance": 1,', "{'relevance': '", '"', "' ", ", "),
    *("not ", "never very ", "neither very relevant nor ", "very\n", "final verdict ", "\\[", "*", " "),
)


def long_replies(_folder: Path) -> str:
    """Replies of 200,000 characters that repeat the beginning of what is searched."""
    for name, read in _REPLIES.items():
        for unit in _UNITS:
            start = process_time()
            read(unit * (200_000 // len(unit)) + "}")
            if (seconds := process_time() - start) > _SECONDS:
                return f"{name}, {unit!r}: {seconds:.1f} s"
    return ""


def many_systems(folder: Path) -> str:
    """Games between more systems than a win matrix can hold."""
    games = [{"system_a": f"s{n}", "system_b": f"s{n + 1}", "winner": "A"} for n in range(20_000)]
    line = {"query_id": "q1", "game_sets": [{"llm": "m", "games": games}]}
    (folder / "games.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    code, out, err = _run(folder, "evaluate", "elo", "games.jsonl")
    return "" if code == 1 and "--system" in err and not out else f"exit code {code}, {err!r}"


def _read_topics() -> None:
    with suppress(DataError):
        parse_topics("<top>\n<num> 1\n" * 100_000, "topics")


_LONG: Mapping[str, Callable[[], object]] = {
    "a body that ends within a string": _read_body,
    "a reply of many labels": lambda: CITATION_SUPPORT.parse("full support " * 40_000, None, "ungraded"),
    "topics without end": _read_topics,
}


def long_texts(_folder: Path) -> str:
    """Texts for which a quadratic search takes minutes."""
    for name, read in _LONG.items():
        start = process_time()
        read()
        if (seconds := process_time() - start) > _SECONDS:
            return f"{name}: {seconds:.1f} s"
    return ""


ATTACKS: tuple[Attack, ...] = (
    Attack(f"long texts: {', '.join(_LONG)}", f"read in linear time, under {_SECONDS} s each", long_texts),
    Attack(
        f"replies of 200,000 characters: {', '.join(_REPLIES)}",
        f"read in linear time, under {_SECONDS} s each",
        long_replies,
    ),
    Attack("games between 20,000 systems", "one sentence, exit code 1", many_systems),
    Attack("duplicate keys of every length in compact JSON", "refused, or all bytes kept", doubled_keys),
    Attack(
        "`NaN`, infinity and lone surrogates on a line that is edited",
        "other passages keep their bytes; a replacement is announced with its line",
        odd_lines,
    ),
    Attack(
        "grades with unusual numbers and keys, read again", "unchanged grades keep their bytes", reread_twice
    ),
    Attack(
        "integers of 5,000 digits in unknown keys, in commands that copy",
        "kept, or one sentence",
        long_integers,
    ),
    Attack("100 random bit flips of a journal", "no changed reply is accepted", journal_bits),
    Attack("50 random bit flips of a converted checkpoint", "it is converted again", conversion_bits),
    Attack("times and intervals without a type in Python, in SQL", "written as text", times_in_sql),
    Attack(
        "line ends in ids, models, prompt classes and texts, in every report",
        "no line of a report starts with such a text",
        lines_of_ids,
    ),
    Attack("cells that begin like formulas", "escaped, or announced for files of other tools", formulas),
)
