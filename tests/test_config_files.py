"""Config files are found by name, the user's own first."""

from __future__ import annotations

from pathlib import Path

import pytest

from pauc_lightning.cli import main
from pauc_lightning.config_files import find_config, list_configs
from pauc_lightning.errors import InputError

SHIPPED = Path(__file__).parent.parent / "configs"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["digits", "digits.yaml", "data/digits", "data/digits.yaml"])
def test_shipped_files_are_found_from_anywhere(name: str) -> None:
    assert find_config(name) == SHIPPED / "data/digits.yaml"


def test_paths_and_the_users_own_files_come_first(tmp_path: Path) -> None:
    own = tmp_path / "configs/mine/digits.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("# Mine.\n")
    assert find_config("digits").resolve() == own
    assert find_config("data/digits") == SHIPPED / "data/digits.yaml"
    (tmp_path / "digits").write_text("")
    assert find_config("digits") == Path("digits")
    assert find_config("method/upauci") == SHIPPED / "method/upauci.yaml"


def test_a_folder_does_not_hide_a_config_of_the_same_name(tmp_path: Path) -> None:
    for name in ("digits", "unheard_of"):
        (tmp_path / name).mkdir()
    assert find_config("digits") == SHIPPED / "data/digits.yaml"
    assert find_config("unheard_of") == Path("unheard_of")  # whoever reads it says that it is a directory


def test_what_is_not_found_or_not_unique_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean `upauci`"):
        find_config("upuaci")
    with pytest.raises(InputError, match="neither a file nor the name of a config"):
        find_config("method/digits")
    for folder in ("a", "b"):
        (tmp_path / "configs" / folder).mkdir(parents=True)
        (tmp_path / "configs" / folder / "same.yaml").write_text("")
    with pytest.raises(InputError, match="a/same, b/same"):
        find_config("same")
    assert find_config("b/same") == Path("configs/b/same.yaml")


def test_every_shipped_file_has_a_unique_name_and_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    names = [Path(name).name for _, name, _ in list_configs()]
    files = [path for path in SHIPPED.rglob("*.yaml") if not path.name.endswith(".search.yaml")]
    assert len(names) == len(set(names)) == len(files)
    assert all(len(description) > 20 for _, _, description in list_configs())
    main(["configs"])
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in names)
    main(["configs", "--path"])
    assert Path(capsys.readouterr().out.strip()) == SHIPPED
