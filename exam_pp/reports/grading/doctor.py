"""The doctor's diagnosis as tables: environment, model, probe."""

from __future__ import annotations

from exam_pp.phases.grading.doctor import REFERENCE, Diagnosis, Examination
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.wording import counted


def doctor_report(found: Diagnosis) -> Report:
    """The environment and, where a model was examined, facts about it and what the probe showed."""
    blocks: list[Block] = [Table(("what", "value"), found.environment, "Environment")]
    if found.examination is not None:
        blocks += _examination(found.examination)
    return Report("exam-pp doctor", blocks)


def _examination(found: Examination) -> list[Block]:
    facts: list[tuple[Cell, Cell]] = [("model", found.model), ("loaded in", f"{found.seconds:.1f} s")]
    facts += [(key, str(value)) for key, value in found.provenance.items()]
    facts.append(("one by one", f"{found.pairs_per_second:.1f} pairs/s"))
    used = {"peak memory": found.memory, "GPU memory in use": found.gpu_memory}
    facts += [(name, f"{value / 2**30:.2f} GiB") for name, value in used.items() if value is not None]
    columns = ("compared with one prompt at a time", "replies", "flips", "largest change of a label's p")
    rows = [(one.company, one.replies, one.flips, one.largest_change) for one in found.comparisons]
    refusal = ""
    if found.reference_error is not None:
        refusal = f" The reference engine could not be asked: {found.reference_error}"
    return [
        Table(("what", "value"), facts, "Model"),
        Table(columns, rows, "Probe", decimals=6),
        Paragraph(_conclusion(found) + refusal),
    ]


def _conclusion(found: Examination) -> str:
    if not found.flips:
        compared = any(one.company == REFERENCE for one in found.comparisons)
        agree = ", and agree with the reference engine" if compared else ""
        return f"No reply changed: grades do not depend on batches{agree}."
    changed = counted(found.flips, "reply")
    if found.sound:
        return f"{changed} changed. In reduced precision this happens where two hypotheses nearly tie."
    return f"{changed} changed. In float32 this is a fault: use --engine transformers, and report it."
