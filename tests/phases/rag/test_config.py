"""Configurations of `exam-pp evaluate rag`: TOML, and YAML of Open RAG Eval."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.plugins.rag_metrics.rag import read_open_rag_eval_config
from tests.conftest import written

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
    config, left_out = read_open_rag_eval_config(written(tmp_path / "eval.yaml", YAML))
    assert config.retrieval.k_values == [1, 7]
    nuggets = config.nuggets
    assert (nuggets.create, nuggets.iterations, nuggets.window_size) == (True, 5, "all")
    chosen = config.consistency
    assert (chosen.enabled, chosen.rouge, chosen.encoder) == (True, True, "xlm-roberta-large")
    assert (chosen.rescale, chosen.metrics) == (False, ["citation_F1"])
    assert config.model is not None
    assert (config.model.model, config.model.pipeline) == ("judge", "openai")
    assert (config.model.temperature, config.model.sampling_seed) == (0.5, 42)
    assert left_out == [
        "connector",
        "evaluator.model.model_kwargs.n",
        "evaluator.model.api_key",
        "evaluator.options.metrics_to_run_consistency: other_score",
        "evaluator GoldenAnswerEvaluator",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "is not valid YAML: "),
        ("a: &a [1, 2]\nevaluator: [*a, *a]", "eval.yaml, line 2: has the alias *a."),
        ("other: 1", "evaluator: is missing; it holds the options of the metrics."),
        (
            "evaluator: {name: x}",
            "evaluator.name: is 'x', not trecrag or consistency with a table of options.",
        ),
        ("evaluator: 3", "evaluator: is not a table of options."),
        ("evaluator: {name: trecrag, options: {k_values: 3}}", "retrieval.k_values: input should be a valid"),
    ],
)
def test_a_mistake_in_yaml_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    pytest.importorskip("yaml")
    path = written(tmp_path / "eval.yaml", text)
    with pytest.raises(DataError) as caught:
        read_open_rag_eval_config(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
