"""Images per second of the batch augmentation beside the usual one image at a time, in one run."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.data import ImageDataModule, Source
from pauc_lightning.data.augment import IMAGENET_MEAN, IMAGENET_STD
from pauc_lightning.errors import InputError


class _RandomImages(ImageDataModule):
    """Random bytes of ten classes; nothing to download."""

    def __init__(self, n: int, size: int, batch_size: int) -> None:
        super().__init__(positive_classes=[0], batch_size=batch_size, sampler="shuffled")
        self.n, self.size = n, size

    def load_source(self) -> Source:
        generator = torch.Generator().manual_seed(0)
        shape = (self.n, 3, self.size, self.size)
        images = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        return Source(images, np.arange(self.n) % 10)


class _PILDataset(Dataset[tuple[Tensor, int, int]]):
    """The same images the usual way: each a PIL image that goes through torchvision's transforms."""

    def __init__(self, images: Tensor, targets: Tensor) -> None:
        self.images = images.permute(0, 2, 3, 1).contiguous().numpy()
        self.targets = targets.tolist()
        size = images.shape[-1]
        self.transform = transforms.Compose(
            [
                transforms.RandomHorizontalFlip(),
                transforms.RandomRotation(15),
                transforms.RandomCrop(size, padding=size // 8),
                transforms.ToTensor(),
                transforms.Normalize(IMAGENET_MEAN, IMAGENET_STD),
            ]
        )

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Tensor, int, int]:
        return self.transform(Image.fromarray(self.images[index])), self.targets[index], index


def main(argv: Sequence[str] | None = None) -> None:
    """Print how many training images per second each way delivers; the ways take turns, the median counts."""
    parser = PlainParser(prog="pauc benchmark data", description=main.__doc__)
    parser.add_argument(
        "--images", type=int, default=15_000, help="images; 0.7 are for training (%(default)s)"
    )
    parser.add_argument("--size", type=int, default=32, help="their height and width (%(default)s)")
    parser.add_argument("--batch_size", type=int, default=1024, help="images per batch (%(default)s)")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="processes that help the usual way (%(default)s)"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="torch's threads in this process; 1 compares core by core (%(default)s)",
    )
    parser.add_argument("--repeats", type=int, default=5, help="epochs of each way (%(default)s)")
    args = parser.parse_args(argv)
    for name, smallest in (
        ("images", 100),
        ("size", 8),
        ("batch_size", 1),
        ("workers", 0),
        ("threads", 1),
        ("repeats", 1),
    ):
        if getattr(args, name) < smallest:
            raise InputError(f"`--{name}` must be at least {smallest}, got {getattr(args, name)}.")

    torch.set_num_threads(args.threads)
    data = _RandomImages(args.images, args.size, args.batch_size)
    ways = {"whole batches, in memory (this project)": _batch_epoch(data)}
    for workers in dict.fromkeys([0, args.workers]):
        ways[f"one by one, PIL, {workers} workers"] = _pil_epoch(data, args.batch_size, workers)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for repeat in tqdm(range(args.repeats + 1), "measuring", leave=False, file=sys.stderr):
        for name, epoch in ways.items():
            start = time.perf_counter()
            seen = epoch()
            if repeat > 0:  # the first turn starts the workers and warms the caches
                rates[name].append(seen / (time.perf_counter() - start))

    medians = {name: statistics.median(values) for name, values in rates.items()}
    print(
        f"{data.train_size:,} training images of {args.size}x{args.size}, batches of {args.batch_size}: flip, rotation "
        f"up to 15 degrees,\ncrop with padding, normalisation; median of {args.repeats}, torch threads: "
        f"{torch.get_num_threads()}, processors: {os.cpu_count()}"
    )
    print(f"{'':42}{'images/s':>12}{'ratio':>10}")
    (ours, fastest), *others = medians.items()
    print(f"{ours:42}{fastest:>12,.0f}")
    for name, rate in others:
        print(f"{name:42}{rate:>12,.0f}{fastest / rate:>9.1f}x")


def _batch_epoch(data: _RandomImages) -> Callable[[], int]:
    loader = data.train_dataloader()
    return lambda: sum(len(data.train_transform(batch.input)) for batch in loader)


def _pil_epoch(data: _RandomImages, batch_size: int, workers: int) -> Callable[[], int]:
    members = torch.from_numpy(data.split.train)
    dataset = _PILDataset(data.source.inputs[members], torch.from_numpy(data.targets)[members])
    loader = DataLoader(
        dataset, batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )
    return lambda: sum(len(images) for images, _, _ in loader)


if __name__ == "__main__":
    main()
