"""Small runs on a table, on images and with a network of the user's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from PIL import Image

from pauc_lightning.cli import main

CONFIGS = Path(__file__).parents[2] / "configs"
QUIET = ("--trainer.enable_progress_bar=false", "--trainer.accelerator=cpu", "--trainer.devices=1")
N = 900


def patients(seed: int = 0) -> pd.DataFrame:
    """Numbers, one of them large, text, categories that are numbers or text that looks so, and missing values."""
    rng = np.random.default_rng(seed)
    died = rng.random(N) < 0.3
    age = np.where(rng.random(N) < 0.1, np.nan, rng.normal(50, 9, N) + 16 * died)
    city = rng.choice(["Rome", "Oslo", "Bonn", "none"], N).astype(object)
    city[rng.random(N) < 0.05] = None
    return pd.DataFrame(
        {
            "patient": [f"{i:05d}" for i in rng.permutation(N)],
            "age": age,
            "seen": 1.7e9 + 1e3 * rng.normal(size=N) + 1800 * died,
            "city": city,
            "ward": rng.integers(1, 4, N),
            "code": rng.choice(["01", "02", "x"], N),
            "pressure": np.where(rng.random(N) < 0.1, -999.9, rng.normal(120, 10, N) + 5 * died),
            "outcome": np.where(died, "yes", "no"),
        }
    )


def table_run(folder: Path, *options: str) -> Path:
    """A run on a table, moved to another place; the training file stays in ``folder``."""
    patients().to_csv(folder / "patients.csv", index=False)
    return fit(
        folder,
        f"-c={CONFIGS / 'data/tabular.yaml'}",
        f"-c={CONFIGS / 'method/ce.yaml'}",
        f"--data.init_args.path={folder / 'patients.csv'}",
        "--data.init_args.label=outcome",
        "--data.init_args.positive_values=[yes]",
        "--data.init_args.id_column=patient",
        "--data.init_args.categorical=[ward]",
        "--data.init_args.missing=impute",
        "--data.init_args.missing_values=[-999.9, none]",
        "--data.init_args.batch_size=32",
        "--model.init_args.learning_rate=0.05",
        *options,
    )


def make_images(folder: Path, seed: int = 0, size: int = 20) -> None:
    """Bright and dark noise, 40 files each; the bright ones are positive."""
    rng = np.random.default_rng(seed)
    for name, level in (("bright", 150), ("dark", 100)):
        (folder / name).mkdir(parents=True)
        for i in range(40):
            pixels = rng.normal(level, 40, (size, size + 4, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i:02d}.png")


def image_run(folder: Path, *options: str) -> Path:
    """A run on the images in ``folder/images``."""
    make_images(folder / "images")
    return fit(
        folder,
        "--data=ImageFolderLT",
        f"--data.root={folder / 'images'}",
        "--data.positive_classes=[bright]",
        "--data.image_size=16",
        "--data.cache_dir=null",
        "--data.batch_size=16",
        f"-c={CONFIGS / 'method/ce.yaml'}",
        "--model.backbone=SmallCNN",
        *options,
    )


def fit(folder: Path, *options: str, epochs: int = 2) -> Path:
    """Train for a moment, and return the run, moved to another place."""
    main(["fit", *options, f"--run_dir={folder / 'runs'}", f"--trainer.max_epochs={epochs}", *QUIET])
    (run,) = (folder / "runs").glob("*/version_0")
    moved = Path(shutil.move(run, folder / "moved"))
    shutil.rmtree(folder / "runs")
    return moved


def predicted(run: Path, output: Path, *options: str) -> pd.DataFrame:
    """What ``pauc predict`` writes."""
    main(["predict", str(run), f"--output={output}", "--overwrite", *options, *QUIET])
    return pd.read_csv(output, dtype={"patient": str})
