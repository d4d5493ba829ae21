"""``pauc features``: images become a table with a pretrained network."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_lightning.errors import InputError
from pauc_lightning.features.options import Request, parse

if TYPE_CHECKING:
    import torch

    from pauc_lightning.features.network import FeatureNetwork

_CPU_BATCH, _ACCELERATOR_BATCH = 16, 256  # on a CPU, larger batches fall out of its cache and take longer


def main(argv: Sequence[str]) -> None:
    """Write the table, and print the command that trains on it.

    Args:
        argv: The command's options.

    Raises:
        SystemExit: With status 130 if it was interrupted.
    """
    request = parse(argv)
    from pauc_lightning.data.image_cache import state_of
    from pauc_lightning.data.image_files import ImageFiles
    from pauc_lightning.features.extract import extract
    from pauc_lightning.features.parts import Parts
    from pauc_lightning.features.table import check_names, check_pyarrow, write_table

    check_pyarrow()
    names, labels = _images(request)
    check_names(names)
    network = _network(request)
    recipe = network.recipe
    device = _device(request.device)
    network.to(device)
    files = ImageFiles(request.images, names, recipe.image_size, interpolation=recipe.interpolation)
    batch_size = request.batch_size or (_CPU_BATCH if device.type == "cpu" else _ACCELERATOR_BATCH)
    parts = Parts(
        request.output.with_name(request.output.name + ".parts"), f"{recipe.to_json()}\n{state_of(files)}\n"
    )
    if parts.n_done:
        print(f"Going on with the parts in {parts.folder}, where an earlier command stopped.")
    start = time.monotonic()
    try:
        extract(network, files, parts, batch_size, device)
    except KeyboardInterrupt:
        print(
            f"\nInterrupted; what is computed is kept in {parts.folder}. To go on, type the same command again.",
            file=sys.stderr,
        )
        raise SystemExit(130) from None
    seconds = time.monotonic() - start
    write_table(request.output, names, labels, parts, recipe)
    parts.remove()
    _report(request, names, labels, seconds)


def _images(request: Request) -> tuple[list[str], list[str] | None]:
    """The files below the folder, and their classes."""
    if request.unlabelled:
        from pauc_lightning.data.new_images import image_names

        return image_names(request.images, "images"), None
    from pauc_lightning.data.image_folder import list_images

    names, ids, classes = list_images(request.images, "images")
    return names, [classes[i] for i in ids]


def _network(request: Request) -> FeatureNetwork:
    """The network with its weights, and the recipe: the user's settings, and the network's own for the others."""
    from pauc_lightning.features.network import FeatureNetwork
    from pauc_lightning.features.recipe import Recipe, checksum
    from pauc_lightning.features.table import read_recipe
    from pauc_lightning.models.timm import pretrained_config, timm_network

    earlier = None if request.like is None else read_recipe(request.like)
    name = request.network if earlier is None else earlier.network
    weights = request.weights if earlier is None else request.weights or earlier.weights
    network = timm_network(name, pretrained=weights is None, weights=weights, n_outputs=0, argument="network")
    weights_hash = "" if weights is None else checksum(Path(weights))
    if earlier is not None:
        if weights_hash != earlier.weights_hash:
            raise InputError(
                f"`weights={weights}` is not the file that the features of {request.like} were made with (its "
                "contents differ): give that one."
            )
        return FeatureNetwork(network, earlier)
    own = pretrained_config(network)
    assert name is not None
    recipe = Recipe(
        name,
        weights,
        weights_hash,
        request.image_size if request.image_size is not None else own["input_size"][-1],
        request.interpolation or (own["interpolation"] if own["interpolation"] == "bicubic" else "bilinear"),
        request.mean or own["mean"],
        request.std or own["std"],
    )
    return FeatureNetwork(network, recipe)


def _device(name: str) -> torch.device:
    import torch

    if name == "auto":
        available = (torch.cuda.is_available(), torch.backends.mps.is_available())
        return torch.device("cuda" if available[0] else "mps" if available[1] else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"`device={name}` cannot be used ({reason}): choose cpu, or auto.") from error
    return device


def _report(request: Request, names: Sequence[str], labels: Sequence[str] | None, seconds: float) -> None:
    speed = f" ({len(names) / seconds:,.0f} images per second)" if seconds > 1 else ""
    print(f"Wrote {len(names):,} rows to {request.output}{speed}.")
    path = shlex.quote(str(request.output))
    if labels is None:
        print(f"Next:  pauc predict RUN --input {path} --id file --output scores.csv")
        return
    counts = Counter(labels)
    rarest = min(counts, key=lambda label: counts[label])
    print(f"Classes: {len(counts)}, with {min(counts.values()):,} to {max(counts.values()):,} images.")
    print(
        f"Next:  pauc fit -c tabular -c upauci --data.path {path} --data.label label --data.id_column file "
        f"--data.positive_values {shlex.quote(f'[{rarest}]')} --model.backbone LinearScorer"
    )
