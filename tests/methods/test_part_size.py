"""A part that is too small for a region is refused before training, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.methods.part_size import check_part
from pauc_lightning.region import Region


def test_few_positives_are_named_with_their_part_and_the_advice_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7}.{i},{int(i % 12 == 0)}" for i in range(96)]  # 8 positives: 1 in the validation part
    Path("few.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    fit = (
        *("fit", "-c", "tabular", "-c", "ce", "--data.path=few.csv", "--data.label=label"),
        *("--model.backbone=LinearScorer", "--trainer.max_epochs=1", "--trainer.accelerator=cpu"),
    )
    with pytest.raises(SystemExit) as stopped:
        main(list(fit))
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert (
        "The validation part has 1 positive, which is too few for TPAUC (FPR ≤ 0.3, TPR ≥ 0.7), one of"
        in said
    )
    assert "`--model.regions '[]'`" in said
    main([*fit, "--model.regions=[]", "--test_best=true"])


@pytest.mark.parametrize(
    ("counts", "region", "said"),
    [
        (
            (3, 99),
            Region(0.3, min_tpr=0.7),
            "test part has 3 positives.* the optimised region.* lower `min_tpr`",
        ),
        ((9, 3), Region(0.3), "test part has 3 negatives.* the optimised region.* larger `max_fpr`"),
    ],
)
def test_the_optimised_region(counts: tuple[int, int], region: Region, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_part("test", *counts, region, [])
    check_part("test", 4, 4, region, [Region()])
