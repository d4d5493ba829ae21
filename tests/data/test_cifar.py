"""CIFAR-10 and CIFAR-100 from tiny archives in the original format, and the published subsets."""

from __future__ import annotations

import hashlib
import io
import pickle
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from archives import FileServer, serve
from torchvision.datasets import CIFAR10, CIFAR100

from pauc_lightning.data import CIFAR10LT, CIFAR100LT
from pauc_lightning.data.longtail import binary_targets, split_long_tail
from pauc_lightning.errors import InputError

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def batch(n: int, seed: int, label_key: str, n_classes: int) -> dict[str, Any]:
    """A batch file as the originals: rows of 1024 red, 1024 green and 1024 blue values."""
    rng = np.random.default_rng(seed)
    return {
        "batch_label": "tiny",
        "data": rng.integers(0, 256, (n, 3072), dtype=np.uint8),
        label_key: [int(i) for i in rng.permutation(np.arange(n) % n_classes)],
        "filenames": [f"{i}.png" for i in range(n)],
    }


def tiny(original: type[CIFAR10], files: dict[str, dict[str, Any]], server: FileServer) -> type[CIFAR10]:
    """torchvision's class with the tiny archive's address and checksums; its code is the real one."""
    raw = {name: pickle.dumps(content, protocol=2) for name, content in files.items()}
    md5 = {name: hashlib.md5(content).hexdigest() for name, content in raw.items()}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar_file:
        for name, content in raw.items():
            member = tarfile.TarInfo(f"{original.base_folder}/{name}")
            member.size = len(content)
            tar_file.addfile(member, io.BytesIO(content))
    server.files[original.filename] = buffer.getvalue()
    meta_name = original.meta["filename"]
    test_name = original.test_list[0][0]
    return type(
        original.__name__,
        (original,),
        {
            "url": server.url(original.filename),
            "tgz_md5": hashlib.md5(buffer.getvalue()).hexdigest(),
            "train_list": [[name, md5[name]] for name in files if name not in (meta_name, test_name)],
            "test_list": [[test_name, md5[test_name]]],
            "meta": original.meta | {"md5": md5[meta_name]},
        },
    )


def use(monkeypatch: pytest.MonkeyPatch, module: type[CIFAR10LT], original: type[CIFAR10]) -> None:
    monkeypatch.setattr(module, "torchvision_class", lambda self: original)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serve({}) as running:
        yield running


CIFAR10_FILES = {
    "batches.meta": {"label_names": NAMES, "num_cases_per_batch": 60, "num_vis": 3072},
    "data_batch_1": batch(60, 1, "labels", 10),
    "data_batch_2": batch(60, 2, "labels", 10),
    "test_batch": batch(40, 3, "labels", 10),
}


def test_cifar10_is_downloaded_unpacked_and_merged(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, CIFAR10LT, tiny(CIFAR10, CIFAR10_FILES, server))
    data = CIFAR10LT(str(tmp_path), imbalance_ratio=None)
    images = data.source.inputs
    assert isinstance(images, torch.Tensor)
    expected = np.concatenate([CIFAR10_FILES[name]["data"] for name in list(CIFAR10_FILES)[1:]])
    assert np.array_equal(images.numpy(), expected.reshape(160, 3, 32, 32))
    labels = [label for name in list(CIFAR10_FILES)[1:] for label in CIFAR10_FILES[name]["labels"]]
    assert data.source.labels.tolist() == labels
    assert data.positive_ids == (2,)
    assert CIFAR10LT(str(tmp_path), positive_classes=["cat", 9]).positive_ids == (3, 9)
    assert data.input_shape == (3, 32, 32)
    assert server.starts == [0]  # the second module found the files


def test_cifar100_uses_the_fine_labels(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "meta": {"fine_label_names": [f"class {i}" for i in range(100)], "coarse_label_names": []},
        "train": batch(700, 1, "fine_labels", 100) | {"coarse_labels": [0] * 700},
        "test": batch(300, 2, "fine_labels", 100) | {"coarse_labels": [0] * 300},
    }
    use(monkeypatch, CIFAR100LT, tiny(CIFAR100, files, server))
    data = CIFAR100LT(str(tmp_path), subset=2, imbalance_ratio=None)
    assert data.positive_ids == (0, 51, 53, 57, 83)
    assert data.source.labels.tolist() == files["train"]["fine_labels"] + files["test"]["fine_labels"]
    assert int(data.targets.sum()) == 50


def test_damage_is_noticed(server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, CIFAR10LT, tiny(CIFAR10, CIFAR10_FILES, server))
    whole = server.files[CIFAR10.filename]
    server.files[CIFAR10.filename] = whole[: len(whole) // 2] + bytes(100) + whole[len(whole) // 2 + 100 :]
    with pytest.raises(InputError, match="MD5 sum"):
        CIFAR10LT(str(tmp_path)).source  # noqa: B018  # reads the files
    assert not (tmp_path / CIFAR10.base_folder).exists()
    server.files[CIFAR10.filename] = whole
    assert len(CIFAR10LT(str(tmp_path)).source.labels) == 160
    file = tmp_path / CIFAR10.base_folder / "data_batch_2"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"cifar-10-batches-py is not the original.*delete it"):
        CIFAR10LT(str(tmp_path)).source  # noqa: B018


def test_images_from_another_source_have_a_way(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a folder of other files nor a missing connection is a dead end."""
    line = (
        "--data=ImageFolderLT --data.root=<folder> "
        r"--data.positive_classes='\[15, 19, 21, 32, 38\]' --data.imbalance_ratio=0.01"
    )
    use(monkeypatch, CIFAR100LT, type("Gone", (CIFAR100,), {"url": server.url("gone")}))
    with pytest.raises(InputError, match=f"cannot download .*404.* yourself.*{line}"):
        CIFAR100LT(str(tmp_path), subset=3).source  # noqa: B018
    (tmp_path / CIFAR100.base_folder / "apple").mkdir(parents=True)
    with pytest.raises(InputError, match=f"cifar-100-python is not the original.*{line}"):
        CIFAR100LT(str(tmp_path), subset=3).source  # noqa: B018


def test_the_third_subset_of_cifar100_has_a_flatfish() -> None:
    """The names of CIFAR-100's ids 15, 19, 21, 31, 32 and 38, of which its own superclass has all but the fish."""
    remark = CIFAR100LT.subsets[2].remark
    assert CIFAR100LT.subsets[2].positives == (15, 19, 21, 32, 38)  # as printed in the paper
    assert "class 32 is the flatfish" in remark
    for text in ("camel (15)", "cattle (19)", "chimpanzee (21)", "elephant (31)", "kangaroo (38)"):
        assert text in remark


@pytest.mark.parametrize("subset", [1, 2, 3])
def test_cifar10_counts_are_the_papers_up_to_one_image_per_class(subset: int) -> None:
    """The table's counts, which only need the labels: 6000 images of each of 10 classes."""
    row = CIFAR10LT.subsets[subset - 1]
    labels = np.repeat(np.arange(10), 6000)
    split = split_long_tail(labels, CIFAR10LT.published_ratio, seed=0)
    train = binary_targets(labels, row.positives)[split.train]
    assert abs(int(train.sum()) - row.n_pos) <= 1
    assert abs(int((1 - train).sum()) - row.n_neg) <= 9
    assert row.n_pos + row.n_neg == 10415


def test_cifar100_table_cannot_come_from_600_images_per_class() -> None:
    """What the remark says: the largest class of the table is larger than 420 images."""
    row = CIFAR100LT.subsets[0]
    labels = np.repeat(np.arange(100), 600)
    train = split_long_tail(labels, 0.01, seed=0).train
    assert len(train) < 0.7 * (row.n_pos + row.n_neg)
    labels = np.repeat(np.arange(100), 997)  # 0.7 of it are 697
    train = split_long_tail(labels, 0.01, seed=0).train
    assert abs(len(train) - (row.n_pos + row.n_neg)) <= 100
    for subset in CIFAR100LT.subsets:
        n_pos = int(binary_targets(labels, subset.positives)[train].sum())
        assert abs(n_pos - subset.n_pos) <= 10
        assert "cannot come from CIFAR-100" in subset.remark


def test_published_is_known_for_the_papers_settings_only(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, CIFAR10LT, tiny(CIFAR10, CIFAR10_FILES, server))
    for subset, row in enumerate(CIFAR10LT.subsets, start=1):
        assert CIFAR10LT(str(tmp_path), subset=subset).published == row  # type: ignore[arg-type]
    assert CIFAR10LT(str(tmp_path), positive_classes=["cat"]).published == CIFAR10LT.subsets[2]
    assert CIFAR10LT(str(tmp_path), positive_classes=["cat", "dog"]).published is None
    assert CIFAR10LT(str(tmp_path), imbalance_ratio=0.1).published is None
    with pytest.raises(InputError, match="`subset` must be from 1 to 3, got 4"):
        CIFAR10LT(subset=4)  # type: ignore[arg-type]
