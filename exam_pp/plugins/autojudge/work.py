"""The steps of the judge: topics and reports to files, a bank, grades, and nugget assignments.

Finished steps are not computed again, and an interrupted step continues from its journal. The journals stay
in the work folder, so that variants and sweeps of a workflow ask no request twice. With a cache folder, all
replies are in one journal there, and no file depends on the endpoint's URL.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exam_pp.banks import BankLine, EntryKind, TestBank
from exam_pp.cli.options import log_summary
from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.autojudge import read_autojudge
from exam_pp.formats.base import FORMATS, Source, Target, format_of
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.banks.generate import GenerateOptions, generate_file
from exam_pp.phases.banks.importance import ImportanceOptions, importance_file
from exam_pp.phases.grading.grading_run import Advance, GradeFiles
from exam_pp.phases.grading.prompt_files import assignment_prompt, rating_prompt
from exam_pp.phases.grading.steps import asked, make_folder
from exam_pp.plugins.autojudge.settings import LlmConfig, Settings, model_of, prompt_of
from exam_pp.prompts import Prompt
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.files import write_text
from exam_pp.store.trec.queries import write_queries
from exam_pp.store.trec.runs import TrecColumns
from exam_pp.studies.engine import Engine, Judge
from exam_pp.studies.inputs import StudyFile
from exam_pp.text.wording import counted, listed

if TYPE_CHECKING:
    from autojudge_base import Report, Request
    from autojudge_base.nugget_data import NuggetBanks

CACHE = "exam_pp.journal"
"""Name of the journal in the cache folder."""


class Work:
    """The files of one configuration of a workflow, in the work folder."""

    def __init__(
        self, settings: Settings, topics: Iterable[Request], llm_config: LlmConfig | None = None
    ) -> None:
        self.settings = settings
        self.column = TrecColumns()
        self.topics = {self.column("query", topic.request_id): _text(topic, settings) for topic in topics}
        self._llm_config = llm_config
        self.folder = make_folder(settings.outdir / settings.work)
        cache = getattr(llm_config, "cache_dir", None) or os.environ.get("CACHE_DIR")
        self._journal = make_folder(Path(cache)) / CACHE if cache else None

    def new_bank(self, given: NuggetBanks | None) -> NuggetBanks:
        """The bank of the settings, else ``given``, else the entries that the model writes."""
        if self.settings.bank is not None:
            path = self._written(_read_bank(self.settings.bank), "bank.jsonl")
        elif given is not None:
            path = self._written(self._lines_of(given), "bank.jsonl")
        else:
            path = self._generated()
        if self.settings.importance and any(
            item.importance is None for line in read_bank(path).lines for item in line.items
        ):
            path = self._labelled(path)
        return self._as_nugget_banks(read_bank(path).lines)

    def bank(self, given: NuggetBanks | None) -> list[BankLine]:
        """The entries of ``given``, else those of the bank in the settings, for the topics."""
        if given is not None:
            return self._of_topics(self._lines_of(given))
        if self.settings.bank is None:
            raise SelectionError(
                "The judge has no questions or nuggets: name a file with the setting 'bank' or with the "
                "option nugget-banks of auto-judge, or let the workflow create nuggets "
                "(create_nuggets: true)."
            )
        return self._of_topics(_read_bank(self.settings.bank))

    def grading(self, bank: Sequence[BankLine]) -> tuple[Prompt, list[BankLine]]:
        """The grading prompt, and the part of the bank that it grades.

        The default prompt grades questions, or nuggets if the bank has no questions.
        """
        kinds: set[EntryKind] = {item.kind for line in bank for item in line.items}
        if self.settings.prompt_class is None:
            prompt = rating_prompt("question" if "question" in kinds else "nugget")
        else:
            prompt = prompt_of(self.settings.prompt_class)
        if prompt.entry_kind is None:
            raise SelectionError(
                f"The prompt {prompt.name!r} of the setting prompt_class is of the kind {prompt.kind}, but "
                "the judge grades a bank; choose a prompt of the kind question or nugget."
            )
        return prompt, lines_of_kind(bank, prompt.entry_kind)

    def assigned(self, reports: Iterable[Report], bank: Sequence[BankLine]) -> Path:
        """The file of the reports' answers with assigned nuggets."""
        name = self.settings.assignment_class
        prompt = prompt_of(name) if name else assignment_prompt(self._model(), TestBank.from_lines(bank))
        return self.graded("Nugget assignment", "assigned.jsonl.gz", reports, bank, prompt)

    def graded(
        self, title: str, output: str, reports: Iterable[Report], bank: Sequence[BankLine], prompt: Prompt
    ) -> Path:
        """The file of the reports' answers with the grades of a prompt."""
        bank_file = self._written(bank, f"bank-{output.partition('.')[0]}.jsonl")
        answers = self.folder / "answers.jsonl"
        ordered = sorted(reports, key=lambda report: (report.metadata.run_id, str(report.metadata.topic_id)))
        lines = (json.dumps(_answer(report, self.column), ensure_ascii=False) for report in ordered)
        write_text(answers, (f"{line}\n" for line in lines))
        engine = self._engine(StudyFile(answers=[str(answers)], queries=str(self._queries())))
        return engine.graded(title, GradeFiles(engine.pool(), Path(output), bank_file), [prompt])

    def _engine(self, inputs: StudyFile | None = None) -> Engine:
        """The engine of a study, whose journals stay: failed requests are sent again only on request."""
        judge = Judge(self._model(), (), self._journal, self.settings.retry_failed)
        return Engine(inputs or StudyFile(), self.folder, judge, unit=self.settings.unit)

    def _queries(self) -> Path:
        path = self.folder / "queries.json"
        write_queries(self.topics, path)
        return path

    def _generated(self) -> Path:
        queries, model = self._queries(), self._model()
        options = GenerateOptions(self.settings.kind, self.settings.count)

        def work(path: Path, journal: Path, advance: Advance) -> Iterator[str]:
            summary = generate_file(
                queries, path, model, options, journal=journal,
                retry_failed=self.settings.retry_failed, advance=advance,
            )  # fmt: skip
            if summary.failed:
                topic, reason = next(iter(summary.failed.items()))
                have = counted(len(summary.failed), "topic has", "topics have")
                raise SelectionError(
                    f"{have} no {self.settings.entries} by the model {model.model!r}, such as {topic!r}: "
                    f"{reason}. The setting retry_failed: true sends failed requests again."
                )
            return summary.lines()

        facts = {**asked(model), "entries": self.settings.entries, "count": self.settings.count}
        title = f"Writing {self.settings.entries}"
        return self._engine().ask(title, ["generate", queries], "bank.jsonl", work, facts)

    def _labelled(self, bank: Path) -> Path:
        model, options = self._model(), ImportanceOptions()
        queries = self._queries()

        def work(path: Path, journal: Path, advance: Advance) -> Iterator[str]:
            files = GradeFiles(
                bank, path, bank, journal,
                retry_failed=self.settings.retry_failed, queries=queries,
            )  # fmt: skip
            return importance_file(files, model, options, advance=advance).lines()

        words: list[str | Path] = ["bank", "importance", bank, queries]
        facts = asked(model, options.prompt)
        return self._engine().ask("Importance", words, "bank-importance.jsonl", work, facts)

    def _model(self) -> ModelOptions:
        return replace(model_of(self.settings, self._llm_config), any_server=self._journal is not None)

    def _written(self, lines: Iterable[BankLine], name: str) -> Path:
        path = self.folder / name
        write_bank(self._of_topics(lines), path)
        return path

    def _of_topics(self, lines: Iterable[BankLine]) -> list[BankLine]:
        """The lines of the topics; raises :class:`SelectionError` for topics without entries."""
        kept = [line for line in lines if line.query_id in self.topics and line.items]
        served = {line.query_id for line in kept}
        if missing := [topic for topic in self.topics if topic not in served]:
            have = counted(len(missing), "topic has", "topics have")
            raise SelectionError(f"{have} no questions or nuggets in the bank: {listed(missing)}.")
        return kept

    def _as_nugget_banks(self, lines: Sequence[BankLine]) -> NuggetBanks:
        from autojudge_base.nugget_data import load_nugget_banks_from_file

        path = self.folder / "nuggets.jsonl"
        dropped = DroppedFields()
        write = FORMATS.get("autojudge-bank").write
        assert write is not None
        write(self._of_topics(lines), Target(path, dropped))
        log_summary(f"{path}: {message}" for message in dropped.lines())
        banks: NuggetBanks = load_nugget_banks_from_file(path)
        return banks

    def _lines_of(self, banks: NuggetBanks) -> list[BankLine]:
        from autojudge_base.nugget_data import write_nugget_banks

        path = self.folder / "given-nuggets.jsonl"
        write_nugget_banks(banks, path)
        return list(read_autojudge(path))


def _read_bank(path: Path) -> list[BankLine]:
    form = format_of(path, "the setting 'bank'")
    if form.content != "bank" or form.read is None:
        raise DataError(
            f"is no test bank but {form.about}; name a file of questions or nuggets.", file=str(path)
        )
    return list(form.read(Source(path, DroppedFields())))


def lines_of_kind(lines: Iterable[BankLine], kind: EntryKind) -> list[BankLine]:
    """The lines with entries of a kind, with only these."""
    of_kind = ((line, [item for item in line.items if item.kind == kind]) for line in lines)
    return [line.model_copy(update={"items": items}) for line, items in of_kind if items]


def _text(topic: Request, settings: Settings) -> str:
    """The text of a topic that the model reads; the title if the other fields are empty."""
    title: str = topic.title
    problem: str = (topic.problem_statement or "").strip()
    if settings.topic_text == "problem_statement":
        return problem or title
    if settings.topic_text == "all":
        parts = (title, (topic.background or "").strip(), problem)
        return " ".join(part for part in parts if part)
    return title


def _answer(report: Report, column: TrecColumns) -> dict[str, object]:
    """A report as an answer of a track, with ids of documents, and names that qrels can hold."""
    metadata = report.metadata
    responses = [
        {"text": sentence.text, "citations": list(sentence.citations or ())}
        for sentence in report.get_sentences_with_citations()
    ]
    return {
        "metadata": {
            "team_id": metadata.team_id,
            "run_id": column("system", metadata.run_id),
            "topic_id": column("query", str(metadata.topic_id)),
        },
        "references": list(report.references or ()),
        "responses": responses,
    }
