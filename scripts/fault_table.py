"""Run all faults, attacks and damaged inputs of docs/project/reliability.md, and rewrite its tables.

Usage: python -m scripts.fault_table [--cases 10000] [--seed 1] [--print]

Takes some minutes. Exits with 1 if there were problems; the tables then show their numbers.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

from scripts.reliability.attacks import ATTACKS
from scripts.reliability.faults import FAULTS, provoke
from scripts.reliability.fuzz import Result, fuzz

PAGE = Path(__file__).resolve().parents[1] / "docs" / "project" / "reliability.md"
BEGIN, END = "<!-- made by scripts/fault_table.py -->", "<!-- end -->"


def fault_rows() -> tuple[list[str], int]:
    """A table row for every fault, and the number of problems."""
    lines = ["| fault | required outcome | times | violations |", "|---|---|---:|---:|"]
    wrong = 0
    for fault in FAULTS:
        print(fault.name, file=sys.stderr)
        problems = provoke(fault)
        wrong += len(problems)
        for problem in problems:
            print(f"    {problem}", file=sys.stderr)
        lines.append(f"| {fault.name} | {fault.expected} | {fault.times} | {len(problems)} |")
    return lines, wrong


def attack_rows() -> tuple[list[str], int]:
    """A table row for every attack, and the number of attacks that succeeded."""
    lines = ["| attack | outcome | violations |", "|---|---|---:|"]
    wrong = 0
    for attack in ATTACKS:
        print(attack.name, file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            problem = attack.run(Path(folder))
        wrong += bool(problem)
        if problem:
            print(f"    {problem}", file=sys.stderr)
        lines.append(f"| {attack.name} | {attack.outcome} | {int(bool(problem))} |")
    return lines, wrong


def fuzz_rows(result: Result) -> list[str]:
    """A table row for every kind of damage."""
    lines = ["| damage | cases | refused with one sentence | violations |", "|---|---:|---:|---:|"]
    for damage, count in result.cases.items():
        problems = sum(outcome.mutation == damage for outcome in result.problems)
        lines.append(f"| {damage} | {count} | {result.refused[damage]} | {problems} |")
    total = result.cases.total(), result.refused.total(), len(result.problems)
    lines.append("| **total** | " + " | ".join(map(str, total)) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--print",
        action="store_true",
        dest="only_print",
        help="print the tables instead of changing the page",
    )
    options = parser.parse_args()
    faults, wrong = fault_rows()
    attacks, successful = attack_rows()
    print(f"{options.cases} damaged files", file=sys.stderr)
    result = fuzz(options.cases, options.seed)
    for outcome in result.problems:
        print(f"    {outcome.command} ({outcome.mutation}): {outcome.problem}", file=sys.stderr)
    tables = "\n".join([BEGIN, "", *faults, "", *attacks, "", *fuzz_rows(result), "", END])
    if options.only_print:
        print(tables)
    else:
        page = PAGE.read_text(encoding="utf-8")
        pattern = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        PAGE.write_text(pattern.sub(lambda _: tables, page), encoding="utf-8")
    sys.exit(bool(wrong or successful or result.problems))


if __name__ == "__main__":
    main()
