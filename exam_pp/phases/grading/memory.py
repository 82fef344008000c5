"""Memory usage of this process and of the GPUs."""

from __future__ import annotations

import resource
import sys


def peak_memory() -> int:
    """The peak memory of this process in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def gpu_memory() -> int | None:
    """Bytes in use on the fullest GPU by all processes, or None without a GPU.

    The allocator of torch does not count the memory of CTranslate2.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    devices = [torch.cuda.mem_get_info(index) for index in range(torch.cuda.device_count())]
    return max(int(total - free) for free, total in devices)
