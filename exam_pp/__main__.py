"""``python -m exam_pp`` is ``exam-pp`` (what ``accelerate launch -m`` starts)."""

from exam_pp.cli.main import main

main()
