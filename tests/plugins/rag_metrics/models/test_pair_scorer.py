"""Pair scorers: classes, shortening, and checkpoints with their own code, against transformers itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, T5Config, T5ForTokenClassification

from exam_pp.errors import ModelError
from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm_requests import Completion, Request, pair_request
from exam_pp.plugins.rag_metrics.pair_scorer import UNLIMITED_TOKENS, PairCheckpoint
from exam_pp.prompts import PROMPTS
from scripts.bench.keyed_model import TINY, make_tokenizer
from tests.llm.asking import answers
from tests.llm.small_models import save_bert_classifier

SOURCE = "The Moon pulls the oceans; tides rise twice a day."
CLAIM = "Tides rise twice a day."
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def load(folder: Path, **more: Any) -> Any:
    options = {"pipeline": "text-classification", "positive_class": "entailment"} | more
    return load_llm(ModelOptions(str(folder), **options))


def score(scorer: Any, source: str, claim: str) -> Completion:
    (reply,) = answers(scorer, [pair_request(source, claim)])
    return reply


def by_hand(folder: Path, source: str, claim: str) -> list[float]:
    """The logits of transformers for one pair."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        logits: list[float] = model(**tokenizer(source, claim, return_tensors="pt")).logits[0].tolist()
    return logits


@pytest.mark.parametrize("name", ["entailment", "neutral", "CONTRADICTION"])
def test_the_score_is_the_probability_of_the_positive_class(nli_checkpoint: Path, name: str) -> None:
    probabilities = torch.tensor(by_hand(nli_checkpoint, SOURCE, CLAIM)).softmax(0).tolist()
    index = ["entailment", "neutral", "contradiction"].index(name.lower())
    scorer = load(nli_checkpoint, positive_class=name)
    assert scorer.positive_class == name.lower()
    assert scorer.provenance()["positive_class"] == name.lower()
    reply = score(scorer, SOURCE, CLAIM)
    assert float(reply.text) == pytest.approx(probabilities[index], abs=1e-4)
    assert (reply.tokens_cut, reply.claim_tokens_cut) == (0, 0)
    assert score(scorer, CLAIM, SOURCE) != reply


@pytest.mark.parametrize("classes", [["consistent"], ["safe", "consistent", "long"]])
def test_single_classes_and_several_labels_are_independent(
    tmp_path: Path, texts: list[str], classes: list[str]
) -> None:
    save_bert_classifier(tmp_path, texts, classes)
    config = json.loads((tmp_path / "config.json").read_text())
    config["problem_type"] = "multi_label_classification" if len(classes) > 1 else None
    (tmp_path / "config.json").write_text(json.dumps(config))
    logit = by_hand(tmp_path, SOURCE, CLAIM)[classes.index("consistent")]
    reply = score(load(tmp_path, positive_class="consistent"), SOURCE, CLAIM)
    assert float(reply.text) == pytest.approx(torch.tensor(logit).sigmoid().item(), abs=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive_class": None}, "needs -M positive_class, .*entailment, neutral, contradiction"),
        ({"positive_class": "sound"}, "has no class 'sound'.*entailment, neutral, contradiction"),
    ],
    ids=["missing", "unknown"],
)
def test_the_positive_class_must_be_named(
    nli_checkpoint: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        load(nli_checkpoint, **options)


def test_prompts_are_refused(nli_checkpoint: Path) -> None:
    asked = Request(PROMPTS.get("GradedRelevance").render({"query": "Why?", "context": "Because."}))
    with pytest.raises(ModelError, match="grade"):
        load(nli_checkpoint).batches([asked])


@pytest.mark.parametrize(("source_words", "claim_words"), [(200, 5), (10, 300), (300, 300), (1, 5000)])
def test_the_source_is_shortened_first_and_then_the_claim(
    nli_checkpoint: Path, source_words: int, claim_words: int
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(nli_checkpoint)
    source, claim = "moon " * source_words, "tides " * claim_words
    reply = score(load(nli_checkpoint), source, claim)
    lengths = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in (source, claim)]
    kept = [lengths[0] - reply.tokens_cut, lengths[1] - reply.claim_tokens_cut]
    assert reply.error is None
    assert sum(kept) + 3 == 128
    assert kept[0] == min(lengths[0], max(125 // 2, 125 - lengths[1]))


def test_a_context_without_room_is_an_error_of_the_pair(nli_checkpoint: Path) -> None:
    reply = score(load(nli_checkpoint, max_input_tokens=4), SOURCE, CLAIM)
    assert reply.error == "a context of 4 tokens leaves no room for source and claim"


HHEM_LIKE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel, T5Config, T5ForTokenClassification


class TinyConfig(PretrainedConfig):
    model_type = "TinyHHEM"

    def __init__(self, t5=None, prompt="", **more):
        self.t5, self.prompt = t5, prompt
        super().__init__(**more)


class TinyForSequenceClassification(PreTrainedModel):
    config_class = TinyConfig

    def __init__(self, config):
        super().__init__(config)
        self.t5 = T5ForTokenClassification(T5Config(**config.t5))
        self.post_init()

    def forward(self, **inputs):
        outputs = self.t5(**inputs)
        outputs.logits = outputs.logits[:, 0, :]
        return outputs
"""
"""A model with its own code that works like HHEM 2.1: the first token of a template decides."""

TEMPLATE = "<pad> Is the hypothesis true?\n\nPremise: {text1}\n\nHypothesis: {text2}"


@pytest.fixture
def hhem_like(tmp_path: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tiny_hhem"
    folder.mkdir()
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    torch.manual_seed(5)
    tokenizer = make_tokenizer(texts, 800)
    tokenizer.save_pretrained(folder)
    t5 = {**TINY, "vocab_size": len(tokenizer), "num_labels": 2, "decoder_start_token_id": 0}
    model = T5ForTokenClassification(T5Config(**t5)).eval()
    tied = {"transformer.encoder.embed_tokens.weight"}
    weights = {f"t5.{key}": value.clone() for key, value in model.state_dict().items() if key not in tied}
    weights["t5.transformer.encoder.embed_tokens.weight"] = weights["t5.transformer.shared.weight"].clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "tiny.py").write_text(HHEM_LIKE)
    config = {
        "model_type": "TinyHHEM", "architectures": ["TinyForSequenceClassification"], "t5": t5,
        "prompt": TEMPLATE, "id2label": {"0": "hallucinated", "1": "consistent"},
        "auto_map": {
            "AutoConfig": "tiny.TinyConfig",
            "AutoModelForSequenceClassification": "tiny.TinyForSequenceClassification",
        },
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_code_of_a_checkpoint_runs_only_if_it_is_trusted(hhem_like: Path) -> None:
    with pytest.raises(ModelError, match=r"custom code.*--trust-remote-code"):
        load(hhem_like, positive_class="consistent")
    scorer = load(hhem_like, positive_class="consistent", trust_remote_code=True)
    assert scorer.provenance()["remote_code"] is True
    assert scorer.provenance()["max_input_tokens"] == UNLIMITED_TOKENS
    text = TEMPLATE.replace("{text1}", SOURCE).replace("{text2}", CLAIM)
    ids = AutoTokenizer.from_pretrained(hhem_like)(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        logits = scorer._model.t5(input_ids=ids).logits[0, 0]
    expected = logits.softmax(0)[1].item()
    assert float(score(scorer, SOURCE, CLAIM).text) == pytest.approx(expected, abs=1e-4)

    short = load(hhem_like, positive_class="consistent", trust_remote_code=True, max_input_tokens=60)
    reply = score(short, SOURCE * 40, CLAIM)
    assert (reply.error, reply.claim_tokens_cut) == (None, 0)
    assert reply.tokens_cut > 60

    before = PairCheckpoint(scorer._options).identity
    (hhem_like / "tiny.py").write_text(HHEM_LIKE + "# changed\n")
    assert PairCheckpoint(scorer._options).identity != before


@pytest.mark.parametrize("revision", [None, "main", COMMIT[:12]])
def test_code_from_the_hub_needs_a_commit(revision: str | None) -> None:
    with pytest.raises(ModelError, match=r"--trust-remote-code needs the commit .* 40 digits"):
        load(Path("vectara/hallucination_evaluation_model"), trust_remote_code=True, revision=revision)
