"""The table of tools: how an export is recognised, and where its fields stand."""

from __future__ import annotations

from typing import NamedTuple


class Tool(NamedTuple):
    """Where an export has what an answer needs.

    A place is a path of keys with points between, compared without case and punctuation; of several, with
    ``|`` between, the first that is not empty counts. ``^`` is what stands around the records. Where
    a path ends above the text, :mod:`exam_pp.plugins.exports.values` finds it by its key.

    ``marks``: Places that a record must have, with blanks between; ``-`` precedes one that it must not have.
    ``passage_ids``: Ids of the contexts, in their order. ``variant``: The number of a system among those of
    the same name, such as that of its prompt. ``repeat``: The number of the answer to the same query.
    ``trace`` and ``parent``: Ids of spans: those of one trace are one answer, whose text is in the span
    without a parent. ``separator``: What separates contexts in a cell of a table.
    """

    name: str
    about: str
    marks: str
    query_text: str
    answer: str
    contexts: str = ""
    reference: str = ""
    system: str = ""
    query_id: str = ""
    passage_ids: str = ""
    variant: str = ""
    repeat: str = ""
    trace: str = ""
    parent: str = ""
    separator: str = ""


TOOLS = (
    Tool(
        "ragas", "ragas 0.1 to 0.4",
        "question|user_input answer|response "
        "contexts|ground_truth|ground_truths|retrieved_contexts|user_input -source_nodes",
        "user_input|question", "response|answer", "retrieved_contexts|contexts",
        "reference|ground_truth|ground_truths", passage_ids="retrieved_context_ids",
    ),
    Tool(
        "deepeval", "DeepEval 1 to 4: test cases, goldens, test runs", "input actual_output",
        "input", "actual_output", "retrieval_context", "expected_output",
        system="^.hyperparameters.model|^.identifier", separator="|",
    ),
    Tool(
        "promptfoo", "promptfoo 0.90 and later", "vars response|output provider|promptIdx",
        "vars|prompt.raw", "response.output|output|response",
        "vars.contexts|vars.context|vars.documents|metadata.contexts|metadata.context|"
        "response.metadata.contexts|response.metadata.context",
        "vars.reference|vars.expected|vars.expected_output|vars.ground_truth|vars.reference_answer",
        "provider.label|provider.id|provider", variant="promptIdx",
    ),
    Tool(
        "langsmith", "LangSmith: runs, experiments",
        "inputs|example.inputs|run.inputs outputs|run.outputs|reference|reference_outputs "
        "-dataset_id -modified_at -created_at -split",
        "inputs|example.inputs|run.inputs", "run.outputs|outputs",
        "outputs.contexts|outputs.context|outputs.documents|outputs.retrieved_contexts|"
        "outputs.source_documents|run.outputs.contexts|run.outputs.documents",
        "reference_outputs|reference|example.outputs",
        "session_name|experiment_name|experiment", "example_id|reference_example_id|example.id",
        trace="trace_id", parent="parent_run_id",
    ),
    Tool(
        "langfuse", "Langfuse 2 to 4: runs of data sets, traces",
        "input|item.input|datasetItem.input|trace.input output|trace.output "
        "expectedOutput|item|datasetItem|datasetItemId|datasetRunName|trace|traceId|timestamp "
        "-repetition_number",
        "input|item.input|datasetItem.input|trace.input", "output|trace.output",
        "output.contexts|output.documents|output.context|trace.output.contexts|metadata.contexts|"
        "metadata.retrieved_contexts|metadata.context|trace.metadata.contexts|contexts|context",
        "expectedOutput|item.expectedOutput|datasetItem.expectedOutput",
        "datasetRunName|runName|experimentName|^.runName|^.datasetRunName|^.name",
        "datasetItemId|item.id|datasetItem.id|experimentItemId",
        trace="traceId", parent="parentObservationId",
    ),
    Tool(
        "phoenix", "Phoenix 4 and later: spans, questions with contexts, experiments",
        "attributes.input|attributes.retrieval|context.trace_id|repetition_number "
        "span_kind|name|output -run_type",
        "attributes.input|input", "attributes.output|output",
        "attributes.retrieval.documents|retrieval.documents|reference|context|"
        "output.contexts|output.context|output.documents", "reference_output",
        "attributes.metadata.system|project_name", "example_id", repeat="repetition_number",
        trace="context.trace_id|trace_id", parent="parent_id",
    ),
    Tool(
        "llamaindex", "LlamaIndex 0.10 and later: evaluation results, responses",
        "query response|prediction contexts|source_nodes|reference_answer|passing|feedback -gt_answer",
        "query", "response|prediction", "contexts|source_nodes", "reference_answer|reference",
    ),
    Tool(
        "inspect-ai", "inspect_ai logs in JSON, version 2", "input target output|messages",
        "input", "output.completion|output.choices|messages",
        "metadata.contexts|metadata.context|store.contexts", "target",
        "^.eval.model|output.model", "id", repeat="epoch",
    ),
    Tool(
        "ragchecker", "RAGChecker 0.1", "query response gt_answer",
        "query", "response", "retrieved_context", "gt_answer", query_id="query_id",
    ),
    Tool(
        "mt-rag", "MT-RAG and MTRAGEval", "task_id input predictions|targets",
        "input", "predictions", "contexts", "targets", "model|model_id", "task_id",
    ),
    Tool(
        "castorini", "ragnarok, also in envelopes castorini.cli.v1",
        "answer references topic_id|query.qid|qid|narrative_id -metadata",
        "topic|narrative|query", "answer",
        "candidates|rag_exec_summary.candidates", "", "run_id",
        "topic_id|query.qid|qid|narrative_id", passage_ids="references",
    ),
    Tool(
        "unnamed-answers", "questions with answers, and no ids",
        "question|query answer|response|generated_answer -query_id -qid -topic_id -run_id -metadata",
        "question|query", "answer|response|generated_answer",
        "contexts|context|documents|passages", "reference|reference_answer|expected_answer|ground_truth",
    ),
)  # fmt: skip
REFERENCES = Tool(
    "references", "questions with reference answers: examples, goldens, test sets, tables",
    "question|query|user_input|input|inputs "
    "reference|reference_answer|ground_truth|ground_truths|expected_answer|expected_output|ideal|outputs "
    "-answer -response -output -actual_output -generated_answer -prediction -predictions -completion -error "
    "-reference_outputs -run -example -run_type -trace_id -start_time -vars -named_scores",
    "question|query|user_input|input|inputs", "",
    reference="reference|reference_answer|ground_truth|ground_truths|expected_answer|expected_output|ideal|"
    "outputs",
)  # fmt: skip
"""Data sets of ragas, LangSmith, Langfuse, LlamaIndex and others, which have no answers of a system."""
