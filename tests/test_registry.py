"""Registries: look-up, suggestions, aliases, lazy values, plug-ins."""

from __future__ import annotations

import math
import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from exam_pp.errors import MissingExtraError, UnknownNameError
from exam_pp.registry import Registry


def test_unknown_names_get_a_suggestion() -> None:
    registry: Registry[int] = Registry("prompt", "test")
    registry.add("NuggetSelfRatedPrompt", 1, aliases=("nugget",))
    with pytest.raises(UnknownNameError) as caught:
        registry.get("NuggetSelfRatedPromt")
    assert (
        str(caught.value) == "No prompt named 'NuggetSelfRatedPromt'. Did you mean 'NuggetSelfRatedPrompt'?"
    )
    with pytest.raises(UnknownNameError, match="NuggetSelfRatedPrompt"):
        registry.get("zzz")


def test_messages_have_short_names() -> None:
    """The beginning of a name proposes the shortest of the short names of the names that begin so."""
    registry: Registry[int] = Registry("prompt", "test")
    registry.add("QuestionSelfRatedPrompt", 1, short="self-rated-chat")
    registry.add("QuestionSelfRatedUnanswerablePrompt", 2, short="self-rated")
    assert registry.get("self-rated") == registry.get("QuestionSelfRatedUnanswerablePrompt") == 2
    for wrong in ("QuestionSelfRated", "self-ratd", "Self-Rated"):
        with pytest.raises(UnknownNameError, match="Did you mean 'self-rated'"):
            registry.get(wrong)
    with pytest.raises(UnknownNameError, match=r"Known: self-rated, self-rated-chat\.$"):
        registry.get("zzz")
    assert registry.aliases("QuestionSelfRatedPrompt") == (), "files have no short names"


def test_a_failing_lazy_value_raises_every_time() -> None:
    def make() -> str:
        raise MissingExtraError("A local model", "hf")

    registry: Registry[str] = Registry("thing", "test")
    registry.add_lazy("late", make)
    for _ in range(2):
        with pytest.raises(MissingExtraError):
            registry.get("late")
    assert registry.names() == ["late"]


def test_aliases_and_registered_names() -> None:
    registry: Registry[int] = Registry("thing", "test")
    registry.add("long-name", 1, aliases=("short",))
    assert registry.get("short") == 1
    assert list(registry) == ["long-name"]
    with pytest.raises(ValueError, match="short"):
        registry.add("short", 2)


def test_names_of_installed_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """`in` also reads the entry points of installed packages."""
    ours = EntryPoint("ours", "math:tau", "exam_pp.things")
    monkeypatch.setattr(
        "exam_pp.registry.entry_points", lambda group: [EntryPoint("theirs", "math:pi", group), ours]
    )
    things: Registry[float] = Registry("thing", "things")
    things.add("ours", 1.0)
    assert "theirs" in things
    assert "other" not in things
    assert (things.get("theirs"), things.get("ours")) == (math.pi, 1.0)
    assert things.names() == ["ours", "theirs"]


def test_the_modules_of_a_package_are_imported_before_the_first_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "things_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text(
        "from exam_pp.registry import Registry\n"
        'THINGS: Registry[int] = Registry("thing", "test", "things_of_a_test")\n'
    )
    for number, name in enumerate(("one", "two"), 1):
        code = f"from things_of_a_test.base import THINGS\nTHINGS.add({name!r}, {number})\n"
        (package / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    things = import_module("things_of_a_test.base").THINGS
    assert "things_of_a_test.one" not in sys.modules
    assert things.names() == ["one", "two"]
    assert things.get("two") == 2
