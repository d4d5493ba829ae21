"""Weights from files: read in every common form, loaded only where they fit."""

from __future__ import annotations

from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.models import TimmModel
from pauc_lightning.models.weights_file import load_weights, read_weights

NETWORK = "mobilenetv3_small_050"


def state(n_classes: int = 1000, seed: int = 0) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    content: dict[str, Tensor] = timm.create_model(NETWORK, num_classes=n_classes).state_dict()
    return content


@pytest.mark.parametrize("form", ["safetensors", "plain", "wrapped", "ddp", "run"])
def test_every_form_gives_the_same_weights(form: str, tmp_path: Path) -> None:
    wanted = state()
    path = tmp_path / f"weights.{'safetensors' if form == 'safetensors' else 'pth'}"
    if form == "safetensors":
        save_file(wanted, path)
    else:
        prefix = {"ddp": "module.", "run": "backbone.network."}.get(form, "")
        named = {f"{prefix}{name}": value for name, value in wanted.items()}
        if form == "run":
            named["objective.a"] = torch.zeros(1)
        torch.save({"state_dict": named, "epoch": 3} if form in ("wrapped", "run") else named, path)
    found = read_weights(path)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(value, wanted[name]) for name, value in found.items())


def test_a_classifier_of_other_classes_is_left_out(tmp_path: Path) -> None:
    wanted = state()
    save_file(wanted, tmp_path / "weights.safetensors")
    torch.manual_seed(5)
    model = TimmModel(NETWORK, weights=str(tmp_path / "weights.safetensors"))
    loaded = model.network.state_dict()
    assert loaded["classifier.weight"].shape == (1, 1024)
    for name, value in wanted.items():
        assert name.startswith("classifier.") or torch.equal(loaded[name], value), name


def test_a_classifier_that_fits_is_taken(tmp_path: Path) -> None:
    torch.save(state(n_classes=1, seed=1), tmp_path / "weights.pth")
    model = TimmModel(NETWORK, weights=str(tmp_path / "weights.pth"))
    assert torch.equal(
        model.network.state_dict()["classifier.weight"], state(n_classes=1, seed=1)["classifier.weight"]
    )


def test_weights_that_do_not_fit_change_nothing(tmp_path: Path) -> None:
    content = state()
    del content["conv_stem.weight"]
    content["more.weight"] = torch.zeros(2)
    torch.save(content, tmp_path / "weights.pth")
    network = timm.create_model(NETWORK, num_classes=0)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with pytest.raises(
        InputError, match=r"`conv_stem.weight` is missing there; `more.weight` is unknown here"
    ):
        load_weights(network, tmp_path / "weights.pth", left_out=("classifier",))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    torch.save({"layer.weight": torch.arange(1000.0)}, path)
    content = bytearray(path.read_bytes())
    at = content.find(torch.arange(1000.0).numpy().tobytes()[40:80])
    content[at] ^= 1  # one bit of a weight
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"`weights=.*weights.pth` cannot be read .*checksum"):
        read_weights(path)
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"`weights=.*weights.pth`"):
        read_weights(path)
    torch.save([1, 2], path)
    with pytest.raises(InputError, match="holds no weights"):
        read_weights(path)


def test_a_frozen_network_trains_its_last_layer_only(tmp_path: Path) -> None:
    save_file(state(), tmp_path / "weights.safetensors")
    model = TimmModel(NETWORK, weights=str(tmp_path / "weights.safetensors"), frozen=True).train()
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert trained == ["network.classifier.weight", "network.classifier.bias"]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    nn.functional.softplus(model(torch.randn(4, 3, 32, 32))).sum().backward()
    optimizer.step()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"network.classifier.weight", "network.classifier.bias"}


def test_two_sources_of_weights_and_none_are_refused() -> None:
    with pytest.raises(InputError, match="two sources of weights"):
        TimmModel(NETWORK, pretrained=True, weights="file.pth")
    with pytest.raises(InputError, match="would keep random weights"):
        TimmModel(NETWORK, frozen=True)
