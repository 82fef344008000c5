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
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.plugins.trust.grade_panel import PanelModel, grade_panel
from exam_pp.store.passages.graded_file import read_passages

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture
def files(tmp_path: Path, tiny_passages: Path, tiny_bank: Path) -> GradeFiles:
    return GradeFiles(tiny_passages, tmp_path / "out.jsonl.gz", tiny_bank)


def panel_of(files: GradeFiles) -> Path:
    assert files.bank is not None
    return files.bank.with_name("panel.toml")


def folder_of(files: GradeFiles) -> Path:
    return files.output.with_name("out.jsonl.gz.panel")


def run(files: GradeFiles, *arguments: Any, **options: Any) -> list[PanelModel]:
    return grade_panel(files, panel_of(files), *arguments, **options)


def write_panel(files: GradeFiles, *models: str, **options: str) -> None:
    lines = "".join(f"{key} = {value}\n" for key, value in options.items())
    panel_of(files).write_text(
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


def test_the_output_is_that_of_one_grading_after_the_other(files: GradeFiles, tmp_path: Path) -> None:
    write_panel(files, "lexical", "random")
    graders = run(files)
    grade = ["grade", "--bank", str(files.bank), "--prompt", RATED]
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    main([*grade, str(files.passages), "--model", "lexical", "-o", str(first)])
    main([*grade, str(first), "--model", "random", "-o", str(second)])

    assert [grader.model.model for grader in graders] == ["lexical", "random"]
    assert gzip.decompress(files.output.read_bytes()) == second.read_bytes()
    assert graders_in(files.output) == {"google/flan-t5-large": 5, "lexical": 5, "random": 5}
    assert not folder_of(files).exists()


def test_an_interrupted_panel_continues(
    files: GradeFiles, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
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
        run(files)
    assert not files.output.exists()
    assert sorted(path.name for path in folder_of(files).iterdir()) == [
        ".grader-2.jsonl.gz.journal", "grader-1.jsonl.gz", "steps.json",
    ]  # fmt: skip

    monkeypatch.setattr(RandomLLM, "generate", count)
    with caplog.at_level("INFO"):
        run(files)
    assert "Grader 1, lexical: complete, not computed again." in caplog.messages
    assert sum(asked) == 3
    assert graders_in(files.output) == {"google/flan-t5-large": 5, "lexical": 5, "random": 5}
    assert not folder_of(files).exists()


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
    files: GradeFiles, model: str, prompt: str, more: str, message: str
) -> None:
    write_panel(files, "lexical")
    second = f'[[grader]]\nmodel = "{model}"\nprompt_class = "{prompt}"\n{more}'
    panel_of(files).write_text(panel_of(files).read_text() + second)
    with pytest.raises(ExamError, match=message) as error:
        run(files)
    assert "secret" not in str(error.value)
    assert not folder_of(files).exists()


def test_packages_are_checked_before_the_first_grader_runs(
    files: GradeFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.llm.backends.find_spec", lambda _name: None)
    write_panel(files, "lexical", "google/flan-t5-large")
    with pytest.raises(ModelError, match=r"grader 2 \(google/flan-t5-large\): .* extra 'hf'"):
        run(files)
    assert not folder_of(files).exists()


def test_options_of_all_graders(files: GradeFiles) -> None:
    write_panel(files, "lexical", "random")
    run(files, GradeOptions([], max_queries=1, max_passages=1))
    assert graders_in(files.output) == {"google/flan-t5-large": 2, "lexical": 2, "random": 2}


def test_files_of_a_model_are_no_output(files: GradeFiles, tmp_path: Path) -> None:
    model, schema = tmp_path / "model" / "config.json", tmp_path / "schema.json"
    model.parent.mkdir()
    for path in (model, schema):
        path.write_text("{}", encoding="utf-8")
    endpoint = {"model_pipeline": '"OpenAI"', "base_url": '"http://127.0.0.1:9/v1"'}
    write_panel(files, "model", **endpoint, response_format='"schema.json"')
    named = ("http://127.0.0.1:9",)
    for path in (model, schema):
        with pytest.raises(OutputError, match="is also an input"):
            run(replace(files, output=path), servers=named)
        assert path.read_text(encoding="utf-8") == "{}"


def test_a_damaged_record_is_an_error(files: GradeFiles) -> None:
    write_panel(files, "lexical")
    folder_of(files).mkdir()
    (folder_of(files) / "steps.json").write_text("[")
    with pytest.raises(DataError, match="is damaged"):
        run(files)


def test_standard_output(files: GradeFiles, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    write_panel(files, "lexical")
    main(
        ["-q", "grade-panel", str(files.passages), "--config", str(panel_of(files)),
         "--bank", str(files.bank), "-o", "-"]
    )  # fmt: skip
    assert capsysbinary.readouterr().out.count(b'"llm":"lexical"') == 3
