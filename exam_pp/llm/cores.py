"""Cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")  # the cores of a container in microseconds, and in how many


def available_cores() -> int:
    """The number of cores that this process may use, within the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = (CPU_QUOTA.read_text("ascii") if CPU_QUOTA.is_file() else "max").partition(" ")
    return min(cores, max(1, int(quota) // int(period))) if quota.isdecimal() else cores
