"""Import rules: layers, rooms, no circular imports."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

from scripts.import_graph import (
    LAYERS,
    OUTSIDE,
    PLUGINS,
    ROOMS,
    SEPARATE,
    SHOWS,
    imports_of,
    modules,
    room_of,
)


def problem(module: str, other: str) -> str:
    """Why a module may not import another one, or "" if it may."""
    (here, room), (there, other_room) = room_of(module), room_of(other)
    if OUTSIDE & {here, there} or other == PLUGINS:
        return ""
    if there == "plugins" and module.split(".")[:2] != other.split(".")[:2]:
        return "of a plug-in"
    if here == "plugins":
        return ""
    if here == there:
        allowed = ROOMS[here][room] if room else ()
        return "of another room" if other_room not in {"", room, *allowed} else ""
    if LAYERS[there] > LAYERS[here]:
        return "of a layer above"
    if there == "rendering" and here not in SHOWS:
        return "which only reports and commands may import"
    return "of the same layer" if LAYERS[there] == LAYERS[here] and LAYERS[here] in SEPARATE else ""


def test_modules_import_what_the_tables_allow() -> None:
    """A part without a layer is a KeyError: give it one in scripts/import_graph.py."""
    graph = {module: imports_of(module) for module in modules()}
    assert [
        f"{module} imports {other}, {why}"
        for module in sorted(graph)
        for other in graph[module]
        if (why := problem(module, other))
    ] == []
    TopologicalSorter(graph).prepare()  # raises CycleError


@pytest.mark.parametrize(
    ("module", "other", "why"),
    [
        ("phases.banks.compare", "cli.main", "of a layer above"),
        ("phases.banks.compare", "phases.review.checked_file", "of another room"),
        ("phases.banks.compare", "plugins.sql.query", "of a plug-in"),
        ("plugins.autojudge.judge", "plugins.sql.query", "of a plug-in"),
        ("plugins.sql.command", "cli.options", ""),
        ("phases.banks.compare", "phases.passages.merge", ""),
        ("phases.banks.compare", "rendering.document", "which only reports and commands may import"),
        ("store.files", "store.trec.runs", "of another room"),
        ("llm.base", "store.files", "of the same layer"),
        ("api.files", "cli.main", ""),
    ],
)
def test_violations_are_detected(module: str, other: str, why: str) -> None:
    assert problem(module, other) == why
