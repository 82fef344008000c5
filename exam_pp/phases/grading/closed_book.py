"""Closed-book grading: the entries of a test bank without passages."""

from __future__ import annotations

from exam_pp.data_model import NO_PASSAGE, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.rubric import ClosedBookGrader
from exam_pp.llm.backends import load_llm
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.grading_run import Advance, FileSummary, GradeFiles, write_answered
from exam_pp.phases.grading.scheduler import Job, answer_in_windows
from exam_pp.prompts.base import Prompt
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import check_output


def closed_book(
    files: GradeFiles, model: ModelOptions, prompt: Prompt, *, advance: Advance = lambda _steps, _total: None
) -> FileSummary:
    """Write a graded file with one empty passage per query, graded on all entries of the prompt's kind.

    ``files``: The test bank, in the place of passages, and the output. An interrupted run continues from its
    journal. Raises :class:`exam_pp.errors.ExamError`.
    """
    bank, output = files.passages, files.output
    check_output(output, [bank])
    if prompt.kind not in ("question", "nugget"):
        raise SelectionError(f"The prompt {prompt.name!r} does not grade questions or nuggets.")
    test_bank = read_bank(bank)
    if prompt.kind not in test_bank.kinds:
        raise SelectionError(
            f"The prompt {prompt.name!r} grades {prompt.kind}s, but {bank} has no {prompt.kind}s."
        )
    llm = load_llm(model)
    grader = ClosedBookGrader(prompt, llm.name, llm.provenance())
    work = []
    for query in test_bank:
        entries = [entry for entry in query.entries.values() if entry.kind == prompt.kind]
        if entries:
            unit = PassageUnit(query.query_id, query.query_text, NO_PASSAGE, "", entries)
            empty = QueryPassages(query.query_id, [Passage(passage_id=NO_PASSAGE, text="")])
            work.append((empty, [Job(0, grader.run(unit), unit.pairs)]))
    summary = FileSummary(queries=len(work), passages=len(work), output=str(output))
    advance(0, sum(job.pairs for _, jobs in work for job in jobs))
    summary.asked = write_answered(
        files, llm, lambda answer: answer_in_windows(work, answer, summary.add), advance
    )
    return summary
