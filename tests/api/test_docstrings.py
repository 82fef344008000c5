"""Google-style docstrings of the public functions, and of the public methods of public classes."""

from __future__ import annotations

import builtins
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import exam_pp
from exam_pp import errors

Function = Callable[..., Any]


def _functions() -> Iterator[tuple[str, Function]]:
    for name in exam_pp.__all__:
        value = getattr(exam_pp, name)
        if inspect.isfunction(value):
            yield name, value


def _methods() -> Iterator[tuple[str, Function]]:
    """Public methods with parameters, by class, with those inherited from classes of exam_pp."""
    for name in exam_pp.__all__:
        value = getattr(exam_pp, name)
        cls = type(value) if name == "PROMPTS" else value
        for base in cls.__mro__ if inspect.isclass(cls) else ():
            for method_name, member in vars(base).items():
                method = getattr(member, "__func__", member)
                is_ours = inspect.isfunction(method) and base.__module__.startswith("exam_pp.")
                if is_ours and not method_name.startswith("_") and _parameters(method):
                    yield f"{base.__qualname__}.{method_name}", method


def _parameters(function: Function) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def _sections(function: Function) -> dict[str, str]:
    """The sections of the docstring by name, in order."""
    text = inspect.getdoc(function) or ""
    _, *parts = re.split(r"^(Args|Returns|Raises):\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _items(section: str) -> list[str]:
    return re.findall(r"^    \*{0,2}(\w+): \S", section, flags=re.MULTILINE)


def _result_section(function: Function) -> list[str]:
    return [] if function.__annotations__["return"] == "None" else ["Returns"]


@pytest.mark.parametrize(("name", "function"), [*_functions()], ids=[name for name, _ in _functions()])
def test_public_functions_document_arguments_result_and_errors(name: str, function: Function) -> None:
    sections = _sections(function)
    assert list(sections) == ["Args", *_result_section(function), "Raises"], name
    assert _items(sections["Args"]) == _parameters(function)
    assert _items(sections["Raises"])


METHODS = dict(_methods())


@pytest.mark.parametrize("name", METHODS)
def test_public_methods_document_arguments_result_and_errors(name: str) -> None:
    method = METHODS[name]
    sections = _sections(method)
    # A method without errors of its own may lack "Raises".
    raises = ["Raises"] if "Raises" in sections or "raise " in inspect.getsource(method) else []
    assert list(sections) == ["Args", *_result_section(method), *raises]
    assert _items(sections["Args"]) == _parameters(method)
    assert _items(sections.get("Raises", "")) or not raises


def test_raises_names_errors_of_exam_pp_or_python() -> None:
    for function in [function for _, function in _functions()] + list(METHODS.values()):
        for error in _items(_sections(function).get("Raises", "")):
            assert hasattr(errors, error) or hasattr(builtins, error), error
