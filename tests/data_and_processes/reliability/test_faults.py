"""Fault injection: full disks, read-only folders, concurrent writers (docs/project/performance.md)."""

from __future__ import annotations

import pytest

from scripts.reliability.faults import FAULTS, Fault, provoke


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault(fault: Fault) -> None:
    assert provoke(fault, 1) == []
