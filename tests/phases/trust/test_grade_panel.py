"""Grading by a panel: one file with the grades of all, which continues after an interruption."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError, ExamError, ModelError, OutputError
from exam_pp.llm.baselines import RandomLLM
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.trust.grade_panel import PanelFiles, grade_panel
from exam_pp.store.passages.graded_file import read_passages

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture
def files(tmp_path: Path, tiny_passages: Path, tiny_bank: Path) -> PanelFiles:
    return PanelFiles(tiny_passages, tmp_path / "out.jsonl.gz", tiny_bank, panel=tmp_path / "panel.toml")


def write_panel(files: PanelFiles, *models: str, **options: str) -> None:
    lines = "".join(f"{key} = {value}\n" for key, value in options.items())
    files.panel.write_text(
        "".join(f'[[grader]]\nmodel = "{model}"\nprompt_class = "{RATED}"\n{lines}' for model in models),
        encoding="utf-8",
    )


def graders_in(path: Path) -> Counter[str]:
    """The number of ratings of each model."""
    return Counter(
        str(grades.model)
        for query in read_passages(path)
        for passage in query.passages
        for grades in passage.grade_sets()
        for _ in grades.entry_ratings()
    )


def test_the_output_is_that_of_one_grading_after_the_other(files: PanelFiles, tmp_path: Path) -> None:
    write_panel(files, "lexical", "random")
    graders = grade_panel(files)
    grade = ["grade", "--bank", str(files.bank), "--prompt", RATED]
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    main([*grade, str(files.passages), "--model", "lexical", "-o", str(first)])
    main([*grade, str(first), "--model", "random", "-o", str(second)])

    assert [grader.model.model for grader in graders] == ["lexical", "random"]
    assert gzip.decompress(files.output.read_bytes()) == second.read_bytes()
    assert graders_in(files.output) == {"google/flan-t5-large": 5, "lexical": 5, "random": 5}
    assert not files.folder.exists()


def test_an_interrupted_panel_continues(
    files: PanelFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The first grader is complete, and the second one continues from its own journal."""
    write_panel(files, "lexical", "random")
    generate = RandomLLM.generate
    asked: list[int] = []

    def stop(self: RandomLLM, requests: Any, batches: Any = None) -> Iterator[Any]:
        for number, reply in enumerate(generate(self, requests, batches)):
            if number == 2:
                raise ModelError("the server has gone.")
            yield reply

    def count(self: RandomLLM, requests: Any, batches: Any = None) -> Iterator[Any]:
        replies = list(generate(self, requests, batches))
        asked.append(len(replies))
        yield from replies

    monkeypatch.setattr(RandomLLM, "batches", lambda _self, requests: [[n] for n in range(len(requests))])
    monkeypatch.setattr(RandomLLM, "generate", stop)
    with pytest.raises(ModelError, match=r"panel\.toml, grader 2 \(random\): the server has gone\."):
        grade_panel(files)
    assert not files.output.exists()
    assert sorted(path.name for path in files.folder.iterdir()) == [
        ".grader-2.jsonl.gz.journal", "grader-1.jsonl.gz", "steps.json",
    ]  # fmt: skip

    monkeypatch.setattr(RandomLLM, "generate", count)
    with caplog.at_level("INFO"):
        grade_panel(files)
    assert "Grader 1, lexical: complete, not computed again." in caplog.messages
    assert sum(asked) == 3
    assert graders_in(files.output) == {"google/flan-t5-large": 5, "lexical": 5, "random": 5}
    assert not files.folder.exists()


ENDPOINT = 'model_pipeline = "openai"\nbase_url = "http://ana:secret@host/v1"\n'


@pytest.mark.parametrize(
    ("model", "prompt", "more", "message"),
    [
        ("random", "NuggetAssignment", "", r"panel\.toml, grader 2 \(random\): The prompt "),
        ("randon", RATED, "", r"grader 2 \(randon\): No model named 'randon'. Did you mean"),
        ("m", RATED, ENDPOINT, r"panel\.toml, grader 2 base_url: .*credentials"),
    ],
)
def test_all_graders_are_checked_before_the_first_one_runs(
    files: PanelFiles, model: str, prompt: str, more: str, message: str
) -> None:
    write_panel(files, "lexical")
    second = f'[[grader]]\nmodel = "{model}"\nprompt_class = "{prompt}"\n{more}'
    files.panel.write_text(files.panel.read_text() + second)
    with pytest.raises(ExamError, match=message) as error:
        grade_panel(files)
    assert "secret" not in str(error.value)
    assert not files.folder.exists()


def test_packages_are_checked_before_the_first_grader_runs(
    files: PanelFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.llm.backends.find_spec", lambda _name: None)
    write_panel(files, "lexical", "google/flan-t5-large")
    with pytest.raises(ModelError, match=r"grader 2 \(google/flan-t5-large\): .* extra 'hf'"):
        grade_panel(files)
    assert not files.folder.exists()


def test_options_of_all_graders(files: PanelFiles) -> None:
    write_panel(files, "lexical", "random")
    grade_panel(files, GradeOptions([], max_queries=1, max_passages=1))
    assert graders_in(files.output) == {"google/flan-t5-large": 2, "lexical": 2, "random": 2}


def test_files_of_a_model_are_no_output(files: PanelFiles, tmp_path: Path) -> None:
    model, schema = tmp_path / "model" / "config.json", tmp_path / "schema.json"
    model.parent.mkdir()
    for path in (model, schema):
        path.write_text("{}", encoding="utf-8")
    endpoint = {"model_pipeline": '"OpenAI"', "base_url": '"http://127.0.0.1:9/v1"'}
    write_panel(files, "model", **endpoint, response_format='"schema.json"')
    named = ("http://127.0.0.1:9",)
    for path in (model, schema):
        with pytest.raises(OutputError, match="is also an input"):
            grade_panel(replace(files, output=path), servers=named)
        assert path.read_text(encoding="utf-8") == "{}"


def test_a_damaged_record_is_an_error(files: PanelFiles) -> None:
    write_panel(files, "lexical")
    files.folder.mkdir()
    (files.folder / "steps.json").write_text("[")
    with pytest.raises(DataError, match="is damaged"):
        grade_panel(files)


def test_standard_output(files: PanelFiles, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_panel(files, "lexical")
    main(
        ["-q", "grade-panel", str(files.passages), "--config", str(files.panel), "--bank", str(files.bank),
         "-o", "-"]
    )  # fmt: skip
    assert capsysbinary.readouterr().out.count(b'"llm":"lexical"') == 3
