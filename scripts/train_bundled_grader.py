"""Train the bundled grader from scratch on generated data, without downloads.

python scripts/train_bundled_grader.py --work-dir work/grader --out exam_pp/bundled --threads 1
python scripts/train_bundled_grader.py --work-dir work/grader --out exam_pp/bundled --resume
python scripts/train_bundled_grader.py --work-dir work/more --out work/new --start exam_pp/bundled --steps 500
python scripts/train_bundled_grader.py --smoke --work-dir out/grader --out out/checkpoint
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads release their core

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.bundled_grader import training

log = logging.getLogger("bundled_grader")


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the checkpoint")
    parser.add_argument(
        "--work-dir", type=Path, required=True, help="folder of the training state, for --resume"
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=training.Settings.steps, help="optimizer steps")
    parser.add_argument("--matrix-rate", type=float, default=training.Settings.matrix_rate)
    parser.add_argument("--rate", type=float, default=training.Settings.rate)
    parser.add_argument(
        "--start", default="", help="checkpoint to start from; use fewer steps and lower rates"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="continue from the state in --work-dir")
    parser.add_argument("--smoke", action="store_true", help="a small model and a few steps, for tests")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Train, and save the checkpoint."""
    options = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.set_num_threads(options.threads)
    settings = training.Settings(
        seed=options.seed,
        steps=options.steps,
        matrix_rate=options.matrix_rate,
        rate=options.rate,
        start=options.start,
    )
    if options.smoke:
        settings = training.Settings(
            seed=options.seed, steps=20, batch_tokens=1500, warm_up=5, layers=3, d_ff=64, start=options.start
        )
    trainer = training.Trainer(settings, options.work_dir)
    if options.resume and trainer.state_file.exists():
        trainer.load_state()
        log.info("continuing at step %d", trainer.step)
    log.info("%.2f M parameters", sum(p.numel() for p in trainer.model.parameters()) / 1e6)
    trainer.run()
    training.save_checkpoint(trainer.model, options.out)
    log.info("saved to %s after %d steps, %.0f s", options.out, trainer.step, trainer.seconds)


if __name__ == "__main__":
    main()
