"""Configurations of Open RAG Eval, which are data: they run no code, and name no servers and folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.llm.base import ModelOptions
from exam_pp.plugins.rag_metrics.rag import Settings, read_settings
from tests.conftest import written
from tests.llm.endpoint_server import serve

YAML = """
connector: {type: csv}
evaluator:
  - name: trecrag
    model: {type: OpenAIModel, name: judge, api_key: secret, model_kwargs: {temperature: 0.5, seed: 42, n: 1}}
    options:
      k_values: [1, 7]
      run_consistency: true
      metrics_to_run_consistency: [generation_score_citation_f1_score, other_score]
  - type: GoldenAnswerEvaluator
    model: {type: OpenAIModel, name: other}
  - name: consistency
    options:
      metrics:
        - bert_score: {model_type: "xlm-roberta-large", lang: "en", rescale_with_baseline: false}
        - rouge_score: {}
"""


def test_the_configuration_of_open_rag_eval_is_read(tmp_path: Path) -> None:
    """The blocks are those of its document on metrics (Configuration Options)."""
    pytest.importorskip("yaml")
    settings, dropped = read_settings(written(tmp_path / "eval.yaml", YAML))
    assert (settings.k_values, settings.nuggets) == ([1, 7], True)
    assert settings.similarities == {
        "bert_score": {"model_type": "xlm-roberta-large", "lang": "en", "rescale_with_baseline": False},
        "rouge_score": {},
    }
    assert settings.model == ModelOptions("judge", pipeline="openai", temperature=0.5, sampling_seed=42)
    assert settings.judge == [
        "--model", "judge", "--model-pipeline", "openai", "-M", "temperature=0.5", "-M", "sampling_seed=42",
    ]  # fmt: skip
    assert dropped.counts.keys() == {
        "field 'connector'", "field 'evaluator.model.model_kwargs.n'", "field 'evaluator.model.api_key'",
        "field 'evaluator.options.metrics.bert_score.lang'", "evaluators 'goldenanswer'",
        "field 'evaluator.options.run_consistency'", "field 'evaluator.options.metrics_to_run_consistency'",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not valid YAML: "),
        ("a: &a [1, 2]\nevaluator: [*a, *a]", "eval.yaml: has an alias"),
        ("other: 1", "evaluator: is missing; it holds the options of the metrics."),
        ("evaluator: {name: trecrag, options: {k_values: 3}}", "k_values: input should be a valid"),
        ("evaluator: {name: trecrag, options: {k_values: [0]}}", "k_values.1: input should be greater than"),
        (
            "evaluator: {name: consistency, options: {metrics: [bert_score: {model_type: ../scorer}]}}",
            "bert_score.model_type: '../scorer' leads out of",
        ),
        (
            "evaluator: {name: trecrag, model: {name: m, base_url: 'http://127.0.0.1:9/v1'}}",
            "model.base_url: only this file names this server",
        ),
        (
            "evaluator: {name: trecrag, model: {name: m, model_kwargs: {temperature: hot}}}",
            "model.temperature: input should be a valid number",
        ),
    ],
)
def test_a_mistake_in_yaml_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    pytest.importorskip("yaml")
    path = written(tmp_path / "eval.yaml", text)
    with pytest.raises(DataError) as caught:
        read_settings(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_keys_without_a_counterpart_have_no_effect(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    text = """
evaluator:
  name: trecrag
  model: {name: m, trust_remote_code: true, response_format: /etc/hostname,
          model_kwargs: {trust_remote_code: true, response_format: ../x}}
  options: {judge: [--base-url, "http://evil"], model: {model: other}, nuggets: false}
"""
    settings, _ = read_settings(written(tmp_path / "eval.yaml", text))
    assert settings == Settings(
        model=ModelOptions("m", pipeline="openai"), judge=["--model", "m", "--model-pipeline", "openai"],
        nuggets=True,
    )  # fmt: skip


def test_only_a_server_that_the_user_names_gets_passages_and_key(
    tiny_passages: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    pytest.importorskip("yaml")
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serve() as server:
        written(
            Path("eval.yaml"),
            f"evaluator: {{name: trecrag, model: {{name: m, base_url: '{server.url}'}}}}",
        )
        with pytest.raises(SystemExit) as stopped:
            main(["evaluate", "rag", str(tiny_passages), "--config", "eval.yaml", "-o", "out"])
    assert stopped.value.code == 1
    assert f"name the server again: --base-url {server.url}\n" in capfd.readouterr().err
    settings, _ = read_settings(Path("eval.yaml"), server.url)
    assert settings.judge[-2:] == ["--base-url", server.url]
