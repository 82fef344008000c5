"""Entry point of ``python -m exam_pp``, also used by ``accelerate launch -m exam_pp``."""

from exam_pp.cli.main import main

main()
