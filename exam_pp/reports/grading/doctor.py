"""Tables of ``exam-pp grade --plan``: environment, model and probe."""

from __future__ import annotations

from exam_pp.llm_requests import LOW_MASS
from exam_pp.phases.grading.choice_probe import Choices
from exam_pp.phases.grading.doctor import REFERENCE, Diagnosis, Examination
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.text.wording import counted


def doctor_report(diagnosis: Diagnosis) -> Report:
    """The environment and, if a model was examined, facts about it and the results of the probe."""
    blocks: list[Block] = [Table(("property", "value"), diagnosis.environment, "Environment")]
    if diagnosis.examination is not None:
        blocks += _examination(diagnosis.examination)
    return Report("exam-pp grade --plan", blocks)


def _examination(examination: Examination) -> list[Block]:
    facts: list[tuple[Cell, Cell]] = [
        ("model", examination.model),
        ("loaded in", f"{examination.seconds:.1f} s"),
    ]
    facts += [(key, str(value)) for key, value in examination.provenance.items()]
    facts.append(("one pair at a time", f"{examination.pairs_per_second:.1f} pairs/s"))
    used = {"peak memory": examination.memory, "GPU memory in use": examination.gpu_memory}
    facts += [(name, f"{value / 2**30:.2f} GiB") for name, value in used.items() if value is not None]
    columns = ("compared with one prompt at a time", "replies", "changed", "largest change of a probability")
    rows = [
        (comparison.setting, comparison.replies, comparison.flips, comparison.largest_change)
        for comparison in examination.comparisons
    ]
    failure = ""
    if examination.reference_error is not None:
        failure = f" The reference engine could not be used: {examination.reference_error}"
    return [
        Table(("property", "value"), facts, "Model"),
        Table(columns, rows, "Probe", decimals=6),
        Paragraph(_conclusion(examination) + failure),
        Paragraph(_choices(examination.choices)),
    ]


def _choices(choices: Choices | str) -> str:
    if isinstance(choices, str):
        return f"Ratings by choice cannot be compared with written ratings. {choices}"
    mass = "" if choices.mass is None else f" The labels have a mean probability of {choices.mass:.2f} there."
    low = (
        " With so low a probability, a choice says little about the rating that the model would write."
        if choices.mass is not None and choices.mass < LOW_MASS
        else ""
    )
    return (
        f"Of {counted(choices.pairs, 'rating')}, {choices.written} could be read from a written reply, and "
        f"{choices.agreeing} of these equal the rating by choice (--reply chosen).{mass}{low}"
    )


def _conclusion(examination: Examination) -> str:
    if not examination.flips:
        compared = any(comparison.setting == REFERENCE for comparison in examination.comparisons)
        agree = ", and agree with the reference engine" if compared else ""
        return f"No reply changed: grades do not depend on batches{agree}."
    changed = counted(examination.flips, "reply")
    if examination.sound:
        return (
            f"{changed} changed. In reduced precision this is normal if two labels are about equally likely."
        )
    return f"{changed} changed. In float32 this is a defect: use -M engine=transformers, and report it."
