"""iNaturalist 2021 from tiny archives in the original format."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from archives import FileServer, serve
from PIL import Image
from torchvision.datasets import inaturalist as original

from pauc_lightning.cli.data_tables import describe
from pauc_lightning.data import INaturalist2021
from pauc_lightning.errors import InputError

SPECIES = {
    "00000_Animalia_Annelida_Clitellata_Haplotaxida_Lumbricidae_Lumbricus_terrestris": 10,
    "00001_Animalia_Arthropoda_Insecta_Coleoptera_Cleridae_Trichodes_ornatus": 60,
    "00002_Animalia_Arthropoda_Insecta_Diptera_Syrphidae_Eristalis_tenax": 110,
    "00003_Fungi_Basidiomycota_Agaricomycetes_Agaricales_Amanitaceae_Amanita_muscaria": 160,
}


def jpeg(value: int, size: tuple[int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, (value,) * 3).save(buffer, "JPEG", quality=95)
    return buffer.getvalue()


def archive(top: str, per_species: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar_file:
        for species, value in SPECIES.items():
            for i in range(per_species):
                content = jpeg(value, (50, 40) if i % 2 else (40, 50))
                member = tarfile.TarInfo(f"{top}/{species}/{top}-{i:03}.jpg")
                member.size = len(content)
                tar_file.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    files = {"train_mini.tar.gz": archive("train_mini", 15), "val.tar.gz": archive("val", 5)}
    with serve(files) as running:
        for version, name in (("2021_train_mini", "train_mini.tar.gz"), ("2021_valid", "val.tar.gz")):
            monkeypatch.setitem(original.DATASET_URLS, version, running.url(name))
            monkeypatch.setitem(original.DATASET_MD5, version, hashlib.md5(files[name]).hexdigest())
        yield running


def load(root: Path, **kwargs: Any) -> INaturalist2021:
    return INaturalist2021(**{"root": str(root), "image_size": 32, **kwargs})


def test_fungi_against_insects(server: FileServer, tmp_path: Path) -> None:
    data = load(tmp_path)
    assert data.source.class_names == ["Trichodes ornatus", "Eristalis tenax", "Amanita muscaria"]
    assert data.positive_ids == (2,)
    assert len(data.source.labels) == 3 * 20
    assert int(data.targets.sum()) == 20
    # Every species is divided by itself, and both archives are in use.
    assert [tuple(count) for count in data.class_counts] == [
        (0, 0, 14, 3, 3),
        (1, 0, 14, 3, 3),
        (2, 1, 14, 3, 3),
    ]
    assert sum(name.startswith("2021_valid/") for name in data.source.sample_names) == 15
    assert data.input_shape == (3, 32, 32)
    assert load(tmp_path).train_size == 42
    assert server.starts == [0, 0]


def test_images_are_read_in_workers(server: FileServer, tmp_path: Path) -> None:
    data = load(tmp_path, num_workers=2, batch_size=16)
    values = torch.tensor([60, 110, 160])
    seen: set[int] = set()
    for batch in data.train_dataloader():
        assert batch.input.dtype == torch.uint8
        assert batch.input.shape[1:] == (3, 32, 32)
        assert batch.index is not None
        labels = data.source.labels[data.split.train[batch.index.numpy()]]
        brightness = batch.input.float().mean((1, 2, 3))
        assert torch.allclose(brightness, values[labels].float(), atol=1.5)
        assert torch.equal(batch.target, torch.from_numpy((labels == 2).astype("int64")))
        seen.update(batch.index.tolist())
    assert seen == set(range(42))


def test_other_taxa(server: FileServer, tmp_path: Path) -> None:
    beetles = load(tmp_path, positive_taxon="Coleoptera", negative_taxon=None)
    assert beetles.positive_ids == (1,)
    assert len(beetles.source.class_names) == 4
    assert beetles.published is None
    for argument in ("positive_taxon", "negative_taxon"):
        with pytest.raises(InputError, match=f"`{argument}=fungi` is in none of the 4 species"):
            load(tmp_path, **{argument: "fungi"}).source  # noqa: B018  # reads the folders
    with pytest.raises(InputError, match="image_size"):
        load(tmp_path, image_size=0)


def test_a_species_without_images_is_named(server: FileServer, tmp_path: Path) -> None:
    load(tmp_path).source  # noqa: B018
    folder = tmp_path / "2021_valid" / list(SPECIES)[1]
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(InputError, match=r"Trichodes_ornatus has no images\. Delete .*2021_valid"):
        load(tmp_path).source  # noqa: B018
    folder.rmdir()
    with pytest.raises(InputError, match=r"Trichodes_ornatus cannot be read: No such file"):
        load(tmp_path).source  # noqa: B018
    with pytest.raises(InputError, match="`negative_taxon=Coleoptera` lies within `positive_taxon=Insecta`"):
        load(tmp_path, positive_taxon="Insecta", negative_taxon="Coleoptera").source  # noqa: B018


def test_the_paper_counts_all_parts(server: FileServer, tmp_path: Path) -> None:
    data = load(tmp_path)
    assert data.published is not None
    assert (data.published.n_pos, data.published.n_neg) == (341 * 60, 2526 * 60)
    rows = {line.split()[0]: line.split() for line in describe(data).splitlines() if line}
    assert rows["all"] == ["all", "20", "40", "60", "20,460", "151,560"]
    assert load(tmp_path, imbalance_ratio=0.5).published is None


def test_a_corrupted_archive_is_refused(server: FileServer, tmp_path: Path) -> None:
    whole = server.files["val.tar.gz"]
    server.files["val.tar.gz"] = whole[:500] + bytes(64) + whole[564:]
    with pytest.raises(InputError, match="MD5 sum"):
        load(tmp_path).source  # noqa: B018
    assert not (tmp_path / "2021_valid").exists()
    server.files["val.tar.gz"] = whole
    assert len(load(tmp_path).source.labels) == 60
