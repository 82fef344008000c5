"""Search of manifests, the history of a file, and the recorded differences between two files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from os.path import realpath
from pathlib import Path
from typing import Any, Literal, NamedTuple

from exam_pp.errors import DataError
from exam_pp.manifest import SUFFIX, InputContent, Manifest, manifest_path
from exam_pp.store.files import STDIO, size_and_sha256
from exam_pp.store.manifests import (
    file_content,
    holds,
    is_manifest,
    manifest_of,
    manifest_sha256,
    read_manifest,
)
from exam_pp.wording import listed

State = Literal["unchanged", "changed", "missing"]
"""The present state of the output of a manifest."""

Kind = Literal["command", "input", "option", "grader", "seed", "version"]
"""Kinds of differences, most important first."""
KINDS: tuple[Kind, ...] = ("command", "input", "option", "grader", "seed", "version")


@dataclass(frozen=True)
class Found:
    """A manifest that was found for a file or folder.

    Attributes:
        name: The file or folder, as the user or a manifest names it.
        place: The manifest file.
        manifest: Its content.
        state: Whether the file still has the content of the manifest.
    """

    name: str
    place: Path
    manifest: Manifest
    state: State


class Step(NamedTuple):
    """A file in the history of another one.

    Attributes:
        depth: 0 for the file itself, 1 for its inputs, and so on.
        content: The file, with the parameter that named it; None for the file itself.
        command: The command that made it, or "" if that is unknown.
        problem: Why the history ends here, or "".
    """

    depth: int
    content: InputContent | None
    command: str
    problem: str = ""


class Difference(NamedTuple):
    """A recorded fact that differs between two files.

    Attributes:
        kind: What differs.
        depth: 0 for the command that wrote the two files, 1 for those that wrote its inputs, and so on.
        step: That command.
        name: The option, input, prompt or package.
        first: Its value for the first file; None if it is not recorded.
        second: The same for the second file.
        sentence: The difference for readers.
    """

    kind: Kind
    depth: int
    step: str
    name: str
    first: str | None
    second: str | None
    sentence: str


@dataclass
class Comparison:
    """The recorded differences between two files, most important first.

    ``same_bytes`` is true if the outputs are equal. ``changed`` is true if the user named a file, not its
    manifest, and the file no longer has the content of its manifest. ``notes`` are about facts that are not
    recorded.
    """

    first: Found
    second: Found
    same_bytes: bool
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    changed: bool = False


def find_manifest(path: Path) -> Found:
    """The manifest of a file or folder.

    Args:
        path: The file or folder, or its manifest; ``-`` is a manifest on standard input.

    Raises:
        DataError: The file has no manifest, or the manifest cannot be read.
    """
    if str(path) == STDIO:
        manifest = read_manifest(path)
        output = Path(manifest.output.path)
        if not _is_within(output, Path()):
            raise DataError(
                f"is the manifest of {output}, outside of the working directory. Name the manifest itself.",
                file="standard input",
            )
        return Found(manifest.output.path, path, manifest, _state(manifest, output))
    if path.name.endswith(SUFFIX) and path.is_file():
        target = path.with_name(path.name.removesuffix(SUFFIX))
        manifest = read_manifest(path)
        return Found(str(target), path, manifest, _state(manifest, target))
    found = manifest_of(path)
    if found is None:
        place = manifest_path(path) if path.name else path
        if path.name and place.is_file():
            read_manifest(place)  # raises the error with the damaged field
        raise DataError(
            f"has no manifest ({place}). It was not written by a command, or with --no-manifest.",
            file=str(path),
        )
    return Found(str(path), *found, _state(found[1], path))


def _state(manifest: Manifest, path: Path) -> State:
    if not path.exists():
        return "missing"
    if path.is_dir():
        files = manifest.output.files
        same = files is not None and all(
            _is_within(path / file.path, path)
            and (path / file.path).is_file()
            and size_and_sha256(path / file.path)[1] == file.sha256
            for file in files
        )
    else:
        same = path.is_file() and holds(manifest, file_content(path, path.name))
    return "unchanged" if same else "changed"


def _is_within(path: Path, folder: Path) -> bool:
    """Whether a path of a manifest is in a folder: others, such as /proc/kmsg, are not even opened."""
    return Path(realpath(path)).is_relative_to(realpath(folder))


def history(found: Found) -> list[Step]:
    """The file, its inputs, their inputs, and so on, as far as manifests are there.

    A file that several steps read has its own inputs only once.
    """
    return [Step(0, None, found.manifest.command), *_inputs(found, 1, set())]


def _inputs(found: Found, depth: int, seen: set[str]) -> Iterator[Step]:
    for content in found.manifest.inputs:
        if content.made_by is None:
            yield Step(depth, content, "", content.note or "")
            continue
        digest, command = content.made_by.manifest_sha256, content.made_by.command
        maker = _maker(found, content)
        if maker is None:
            yield Step(depth, content, command, "its manifest was removed or replaced")
        elif digest in seen:
            yield Step(depth, content, command, "as above")
        else:
            seen.add(digest)
            yield Step(depth, content, command)
            yield from _inputs(maker, depth + 1, seen)


def _maker(found: Found, content: InputContent) -> Found | None:
    """The manifest of an input, if it is still the one that was there when the command ran."""
    if content.made_by is None:
        return None
    beside = found.place.absolute().parent
    # Paths are relative to the folder in which the command ran: that of the output without its own path.
    own = Path(found.manifest.output.path)
    ran = beside if own.is_absolute() else _without(beside, own.parent)
    for path in (ran / content.path, Path(content.path), beside / Path(content.path).name):
        for output in (path, path.parent):
            if not output.name:
                continue
            place = manifest_path(output)
            if is_manifest(place) and manifest_sha256(place) == content.made_by.manifest_sha256:
                return Found(content.path, place, read_manifest(place), "unchanged")
    return None


def _without(folder: Path, end: Path) -> Path:
    """A folder without the last parts of its path, if they are those of ``end``."""
    parts = end.parts
    return Path(*folder.parts[: -len(parts)]) if parts and folder.parts[-len(parts) :] == parts else folder


def compare_manifests(first: Path, second: Path) -> Comparison:
    """Find the recorded differences in the making of two files.

    Where the commands read different inputs, the manifests of these inputs are compared, too.

    Args:
        first: A file or folder with a manifest, or a manifest.
        second: The other one.

    Returns:
        The differences. Those of earlier steps come first, because they cause the later ones, and versions
        come last.

    Raises:
        DataError: A file has no manifest, or it cannot be read.
    """
    one, two = find_manifest(first), find_manifest(second)
    same = one.manifest.output.sha256 is not None and _digest(one) == _digest(two)
    result = Comparison(one, two, same)
    for found, named in ((one, first), (two, second)):
        if found.state == "changed":
            result.changed = result.changed or found.place != named
            result.notes.append(f"{found.name} was changed after its manifest was written.")
    found_differences = _differences(one, two, 0, result.notes)
    unique = {
        (row.kind, row.name, row.first, row.second): row
        for row in sorted(found_differences, key=lambda row: row.depth)
    }
    result.differences = sorted(
        unique.values(), key=lambda row: (row.kind == "version", -row.depth, KINDS.index(row.kind))
    )
    return result


def _digest(found: Found) -> str | None:
    """The digest of the output, or of the file of a folder that the user named."""
    output = found.manifest.output
    files = {file.path: file.sha256 for file in output.files or ()}
    return files.get(Path(found.name).name, output.sha256)


def _differences(one: Found, two: Found, depth: int, notes: list[str]) -> Iterator[Difference]:
    a, b = one.manifest, two.manifest
    step = a.command if a.command == b.command else f"{a.command} / {b.command}"

    def differ(kind: Kind, name: str, first: Any, second: Any, sentence: str) -> Difference:
        return Difference(kind, depth, step, name, _shown(first), _shown(second), sentence)

    def both(first: str, second: str) -> str:
        return f"{first} for {one.name}, and {second} for {two.name}"

    if a.command != b.command:
        sentence = f"{one.name} was made by `{a.command}`, and {two.name} by `{b.command}`."
        yield differ("command", "command", a.command, b.command, sentence)
    elif a.output.parameter != b.output.parameter:
        sentence = (
            f"{one.name} is the file of {a.output.parameter}, and {two.name} that of {b.output.parameter}."
        )
        yield differ("command", "output", a.output.parameter, b.output.parameter, sentence)
    for name in dict.fromkeys(content.parameter for content in (*a.inputs, *b.inputs)):
        lists = [[each for each in side.inputs if each.parameter == name] for side in (a, b)]
        left_order, right_order = ([each.path for each in side] for side in lists)
        if _is_reordered(*lists):
            sentence = f"`{step}` read the files of {name} in another order."
            yield differ("input", name or "another file", left_order, right_order, sentence)
    for left, right in _other_inputs(a, b, step, notes):
        known = left or right
        assert known is not None, "a pair has an input"
        name = known.parameter or "another file"
        yield differ("input", name, _input(left), _input(right), _input_sentence(step, name, left, right))
        makers = [
            _maker(found, content) if content is not None else None
            for found, content in ((one, left), (two, right))
        ]
        if makers[0] is not None and makers[1] is not None:
            yield from _differences(makers[0], makers[1], depth + 1, notes)
    seeds = a.seeds.keys() | b.seeds.keys()
    named: list[tuple[Any, Any]] = []
    pairs = _values({x.name: x.value for x in a.options}, {x.name: x.value for x in b.options})
    for name, first, second in pairs:
        named.append((first, second))
        kind: Kind = "seed" if name in seeds else "option"
        sentence = f"{name} of `{step}` is {both(_quoted(first), _quoted(second))}."
        yield differ(kind, name, first, second, sentence)
    if (left_panel := _panel(a)) != (right_panel := _panel(b)) and left_panel and right_panel:
        sentence = f"The graders of `{step}`: {both(listed(left_panel), listed(right_panel))}."
        yield differ("grader", "graders", left_panel, right_panel, sentence)
    for name, first, second in _values(_prompts(a), _prompts(b)):
        if first is not None and second is not None:  # else an option differs
            sentence = f"The text of the prompt {name} differs (hashes {first} and {second})."
            yield differ("grader", name, first, second, sentence)
    for name, first, second in _values(a.report, b.report):
        if (first, second) in [*named, *(([x], [y]) for x, y in named)]:
            continue  # an option is this difference
        title = _REPORT_NAMES.get(name, name)
        sentence = f"The {title} of the numbers: {both(_quoted(first), _quoted(second))}."
        yield differ("grader", title, first, second, sentence)
    for name, first, second in _values(dict(a.versions), dict(b.versions)):
        if first is not None and second is not None:
            yield differ("version", name, first, second, f"{name} is {both(first, second)}.")
    for found, other in ((one, two), (two, one)):
        only = [name for name in found.manifest.packages if name not in other.manifest.packages]
        if only:  # most often an effect of another option, so no difference of its own
            notes.append(f"`{step}` used {listed(only)} only for {found.name}.")


_REPORT_NAMES = {
    "models": "graders",
    "prompt_classes": "prompt classes",
    "min_grades": "thresholds",
    "queries": "number of queries",
    "official": "official ranks",
}
"""Fields of the provenance of reports, as readers know them."""


def _values(one: Mapping[str, Any], two: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """The names with different values, in the order of the first mapping; None if a name is missing."""
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield name, one.get(name), two.get(name)


def _prompts(manifest: Manifest) -> dict[str, str]:
    return {name: digest for asked in manifest.asked for name, digest in asked.prompts.items()}


def _panel(manifest: Manifest) -> list[str]:
    """The models that a panel file names; those of options differ as options."""
    return [asked.model for asked in manifest.asked if asked.option == "--panel"]


Pair = tuple[InputContent | None, InputContent | None]


def _other_inputs(a: Manifest, b: Manifest, step: str, notes: list[str]) -> Iterator[Pair]:
    """The inputs of two commands that differ, paired by option and position."""
    for content in (*a.inputs, *b.inputs):
        if content.sha256 is None:
            reason = content.note or "it has no digest"
            notes.append(f"The content of {content.path} of `{step}` is not recorded: {reason}.")
    for name in dict.fromkeys(content.parameter for content in (*a.inputs, *b.inputs)):
        left, right = (
            [content for content in side.inputs if content.parameter == name and not _is_stream(content)]
            for side in (a, b)
        )
        others = []
        for content in left:
            same = (other for other in right if content.sha256 and other.sha256 == content.sha256)
            if (match := next(same, None)) is not None:
                right.remove(match)
            else:
                others.append(content)
        yield from zip_longest(others, right)


def _is_reordered(left: list[InputContent], right: list[InputContent]) -> bool:
    digests = [[content.sha256 or "" for content in side] for side in (left, right)]
    return digests[0] != digests[1] and sorted(digests[0]) == sorted(digests[1])


def _is_stream(content: InputContent) -> bool:
    return content.sha256 is None and content.files is None


def _input(content: InputContent | None) -> str | None:
    if content is None:
        return None
    return f"{content.path} ({content.sha256[:12]})" if content.sha256 else content.path


def _input_sentence(step: str, name: str, left: InputContent | None, right: InputContent | None) -> str:
    if left is None or right is None:
        content, place = (right, "second") if left is None else (left, "first")
        assert content is not None, "a pair has an input"
        return f"Only for the {place} file, `{step}` read {content.path} ({name})."
    names = left.path if left.path == right.path else f"{left.path} and {right.path}"
    sentence = f"`{step}` read different content as {name}: {names}"
    files = list(
        _values(
            {file.path: file.sha256 for file in left.files or ()},
            {file.path: file.sha256 for file in right.files or ()},
        )
    )
    return f"{sentence} (files {listed([name for name, *_ in files])})." if files else f"{sentence}."


def _shown(value: Any) -> str | None:
    """A value in a table cell."""
    if value is None:
        return None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)


def _quoted(value: Any) -> str:
    """A value in a sentence."""
    if value is None or value in ([], ()):
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{_shown(value)!r}" if isinstance(value, str) else f"{_shown(value)}"
