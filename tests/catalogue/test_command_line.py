"""Bad options: each command ends with status 2 and one sentence, and leaves the directory as it was."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from catalogue.sentences import check_said, contents

from pauc_lightning.cli import main

FIT = ("fit", "-c", "digits", "-c", "ce", "--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false")
METHODS = "AGDSBCD, AUCExp, AUCM, AUCPoly, CE, HardCE, MB, PAUCI, PartialAUC, SOPA, SOPAS, UPAUCI"
BACKBONES = "LinearScorer, MLPScorer, ResNet18, SmallCNN, TimmModel;"


class Case(NamedTuple):
    """A command line, with spaces between its arguments, and what the sentence must contain."""

    arguments: str
    words: tuple[str, ...]


def fit(arguments: str, *words: str) -> Case:
    return Case(" ".join([*FIT, arguments]), words)


def pauc(arguments: str, *words: str) -> Case:
    return Case(arguments, words)


MY_MODULES = {
    "broken.py": "class Net(:\n",
    "typo.yaml": "modle:\n  class_path: CE\n",
    "raising.py": "raise RuntimeError('no licence')\n",
    "mine.py": (
        "from torch import nn\n"
        "class Net(nn.Linear):\n"
        "    def __init__(self, width: int = 1) -> None:\n"
        "        super().__init__(64, 1)\n"
        "        if width > 9: raise ZeroDivisionError('too wide')\n"
        "class Thing: pass\n"
        "value = 3\n"
    ),
}

CASES = {
    "commands": (
        pauc("", "No command", "fit", "benchmark"),
        pauc("fti", "`fti`", "Did you mean `fit`?"),
        pauc("comapre", "`comapre`", "Did you mean `compare`?"),
        pauc("tets", "`tets`", "Did you mean `test`?"),
        pauc("something", "`something`", "fit, resume"),
        pauc("--hlep", "`--hlep`", "Did you mean `--help`?"),
        pauc("fit", "no data are named", "no method is named", "-c digits"),
        pauc("fit -c", "`-c` needs", "-c digits"),
        pauc("fit -c --model=CE", "`-c` needs"),
        pauc("fit -c digits", "No method", "-c upauci"),
        pauc("fit -c ce", "No backbone is named", BACKBONES),
        pauc("fit --model=CE --data=DigitsLT", "No backbone is named", "--model.backbone=<name>", BACKBONES),
        pauc("fit -c digits --model=CE --model.backbone=TimmModel", "TimmModel needs `name`"),
        pauc("fit -c digits --model.backbone=MLPScorer", "No method", "upauci"),
        pauc("test", "`pauc test` needs the run's directory", "pauc test runs/"),
        pauc("validate", "`pauc validate` needs the run's directory"),
        pauc("predict", "`pauc predict` needs the run's directory"),
        pauc("test -c digits -c ce", "`pauc test` needs a trained model", "--ckpt_path"),
        pauc("predict -c digits -c ce", "`pauc predict` needs a trained model", "runs/"),
        pauc("validate -c digits -c ce", "`pauc validate` needs a trained model"),
        pauc("resume", "`pauc resume` needs the run's directory"),
        pauc("resume nowhere", "`nowhere`", "no such run"),
        pauc("test nowhere", "`nowhere`", "no such run"),
        pauc("predict empty", "`empty`", "no config.yaml"),
        pauc("resume empty", "`empty`", "no config.yaml"),
        pauc("validate mine.py", "`mine.py` is a file", "directory"),
        fit("something", "`something`", "takes options only"),
        fit("--model.max_fpr 0.3 0.5", "`0.5`", "lists are written as one word"),
        fit("-x", "`-x`", "two dashes"),
        pauc("benchmark", "`pauc benchmark`", "NAME"),
        pauc("benchmark metrc", "`metrc`", "Did you mean `metric`?"),
        pauc("benchmark metric --max-fp=3", "`--max_fp`", "Did you mean `--max_fpr`?"),
        pauc("benchmark metric --psoitives=3", "`--psoitives`", "Did you mean `--positives`?"),
        pauc("configs --pth", "`--pth`", "Did you mean `--path`?"),
        pauc("test --ckpt-pth=x --data=DigitsLT", "`--ckpt_pth`", "Did you mean `--ckpt_path`?", "pauc test"),
        pauc("validate --trainer.devics=1", "Did you mean `--trainer.devices`?", "pauc validate"),
        pauc("predict --prediction.filename=x", "Did you mean `--predictions.filename`?"),
        pauc("configs all", "`all`", "`pauc configs --help`"),
        pauc("data", "no data", "-c"),
        pauc("data -c digits --exprot=x", "`--exprot`", "Did you mean `--export`?"),
        pauc("data --data=DigtsLT", "`DigtsLT`", "Did you mean `DigitsLT`?"),
        pauc("data --data=CE", "CE is a method", "data module"),
        pauc("data -c digits --data.sed=1", "`--data.sed=1`", "Did you mean `seed`?"),
        pauc("data -c digits --data.positive_classes=[11]", "positive_classes", "11", "0 to 9"),
    ),
    "names": (
        fit("--modle=CE", "`--modle`", "Did you mean `--model`?"),
        fit("-c typo.yaml", "`modle: CE` in typo.yaml", "Did you mean `model`?"),
        fit("--modle.max_fpr=3", "`--modle.max_fpr`", "Did you mean `--model.max_fpr`?"),
        fit("--max-fpr=3", "`--max_fpr`", "Did you mean `--model.max_fpr`?"),
        fit("--batch_size=3", "`--batch_size`", "Did you mean `--data.batch_size`?"),
        fit("--model.omgea=3", "`--model.omgea=3`", "CE has no option `omgea`", "learning_rate"),
        fit("--model.learning_rat=3", "Did you mean `learning_rate`?"),
        fit("--model.init_args.learning_rat=3", "`--model.init_args.learning_rat=3`", "learning_rate"),
        fit("--model.backbone.hiden=[3]", "MLPScorer has no option `hiden`", "Did you mean `hidden`?"),
        fit("--data.bacth_size=3", "DigitsLT has no option `bacth_size`", "Did you mean `batch_size`?"),
        fit("--trainer.max_epoch=3", "`--trainer.max_epoch`", "Did you mean `--trainer.max_epochs`?"),
        fit("--trainer.max_epohcs=3", "Did you mean `--trainer.max_epochs`?"),
        fit("--checkpoint.every_n=3", "`--checkpoint.every_n`", "Did you mean `--checkpoint."),
        fit("--figures.every_n=3", "`--figures.every_n`", "Did you mean `--figures.every_n_epochs`?"),
        fit("--predictions.filenam=x", "Did you mean `--predictions.filename`?"),
        fit("--wandb_projct=x", "Did you mean `--wandb_project`?"),
        fit("--run-nmae=x", "Did you mean `--run_name`?"),
        fit("--data.bacth-size=3", "DigitsLT has no option `bacth_size`", "Did you mean `batch_size`?"),
        fit("--run_nmae=x", "Did you mean `--run_name`?"),
        fit("--ckpt=x", "`--ckpt`"),
        fit("--trainer={max_epoch:3}", "trainer"),
        fit('--model={"class_pth":"CE"}', "class_pth", "Did you mean `class_path`?"),
        fit('--model.regions=[{"max_fp":0.3}]', "Region has no option `max_fp`", "Did you mean `max_fpr`?"),
        fit("--trainer.callbacks.patience=3", "patience", "first name a class"),
    ),
    "classes": (
        fit("--model=EC", "`EC` is not a method", "Did you mean `CE`?", METHODS),
        fit("--model=upauci", "Did you mean `UPAUCI`?"),
        fit("--data=DigtsLT", "`DigtsLT` is not a data module", "Did you mean `DigitsLT`?", "TabularLT"),
        fit("--model.backbone=SmalCNN", "`SmalCNN` is not a backbone", "Did you mean `SmallCNN`?", BACKBONES),
        fit("--model=DigitsLT", "DigitsLT is a data module (for --data)", METHODS),
        fit("--model=MLPScorer", "MLPScorer is a backbone (for --model.backbone)", METHODS),
        fit("--data=CE", "CE is a method (for --model)", "DigitsLT"),
        fit("--model.backbone=CE", "CE is a method, not a backbone", BACKBONES),
        fit("--model.backbone=DigitsLT", "DigitsLT is a data module", BACKBONES),
        fit("--model.backbone.class_path=3", "`3` is not a backbone", BACKBONES),
        fit("--model=nowhere.Net", "`--model=nowhere.Net`", "nowhere.py"),
        fit("--data=nowhere.Data", "`--data=nowhere.Data`", "nowhere.py"),
        fit("--model.backbone=nowhere.Net", "`--model.backbone=nowhere.Net`", "nowhere.py"),
        fit("--model.backbone=mine.Nett", "has no class Nett", "Did you mean `Net`?"),
        fit("--model.backbone=mine.Thing", "`--model.backbone=mine.Thing`", "not a backbone", "Module"),
        fit("--model.backbone=mine.value", "`--model.backbone=mine.value`", "not a backbone"),
        fit("--model=mine.Net", "`--model=mine.Net`", "not a method", METHODS),
        fit("--data=mine.Net", "`--data=mine.Net`", "not a data module", "LightningDataModule"),
        fit("--model.backbone=broken.Net", "`--model.backbone=broken.Net`", "invalid syntax"),
        fit("--model.backbone=raising.Net", "`--model.backbone=raising.Net`", "no licence"),
        fit("--model.backbone=mine.Net --model.backbone.width=10", "Net cannot be built", "too wide"),
        fit("--trainer.callbacks=EarlyStoping", "not a callback", "Did you mean `EarlyStopping`?"),
        fit("--trainer.callbacks=EarlyStopping", "EarlyStopping needs `monitor`"),
        fit("--trainer.callbacks=[EarlyStoping]", "Did you mean `EarlyStopping`?"),
        fit("--trainer.callbacks=3", "`3` is not a callback"),
        fit("--trainer.logger=TensorBordLogger", "Did you mean `TensorBoardLogger`?"),
        fit("--trainer.logger=TensorBoardLogger", "TensorBoardLogger needs `save_dir`"),
        fit("--model=null", "no method is named"),
        fit("--data=null", "no data are named"),
        fit("--model.backbone=null", "No backbone is named", BACKBONES),
    ),
    "types": (
        fit("--model.max_fpr=abc", "`--model.max_fpr=abc`", "give a number"),
        fit("--model.max_fpr=[1]", "`--model.max_fpr=[1]`", "give a number"),
        fit("--model.max_fpr=5%", "`--model.max_fpr=5%`", "for 5 % write 0.05"),
        fit("--decision.target_fpr=1%", "`--decision.target_fpr=1%`", "for 1 % write 0.01"),
        fit("--decision.target_fpr=[0.5%]", "target_fpr", "for 0.5 % write 0.005"),
        pauc("evaluate mine.csv --target_fpr 1%", "`--target_fpr 1%`", "for 1 % write 0.01"),
        fit("--model.max_fpr", "`--model.max_fpr` needs a value"),
        fit("--trainer.max_epochs=three", "`--trainer.max_epochs=three`", "give a whole number or null"),
        fit("--trainer.max_epochs=1.5", "`--trainer.max_epochs=1.5`", "give a whole number or null"),
        fit("--data.batch_size=1.5", "`--data.batch_size=1.5`", "give a whole number"),
        fit("--data.seed=", "`--data.seed=`", "give a whole number"),
        fit("--data.sampler=random", "`--data.sampler=random`", "stratified, shuffled"),
        fit("--data.positive_classes=3", "`--data.positive_classes=3`", "give a list"),
        fit("--data.positive_fraction=abc", "`--data.positive_fraction=abc`", "give a number or null"),
        fit("--model.regions=3", "`--model.regions=3`", "[{max_fpr: 0.3}"),
        fit("--model.regions=[0.3]", "`--model.regions=[0.3]`", "[{max_fpr: 0.3}"),
        fit('--model.regions=[{"max_fpr":"a"}]', "max_fpr", "give a number"),
        fit("--model.backbone.hidden=0", "`--model.backbone.hidden=0`", "give a list"),
        fit("--model.backbone.hidden=[a]", "`--model.backbone.hidden=[a]`", "give a whole number"),
        fit("--model.schedule=cosin", "`--model.schedule=cosin`", "Did you mean `cosine`?"),
        fit("--wandb=ofline", "`--wandb=ofline`", "Did you mean `offline`?"),
        fit("--test_best=perhaps", "`--test_best=perhaps`", "true or false"),
        fit("--seed_everything=abc", "`--seed_everything=abc`", "a whole number"),
        fit("--trainer.precision=7", "`--trainer.precision=7`", "bf16-mixed"),
        fit("--trainer.deterministic=xx", "`--trainer.deterministic=xx`", "warn", "true or false"),
        fit("--trainer=3", "`--trainer=3`", "--trainer.<name>=<value>"),
        fit("--checkpoint=3", "`--checkpoint=3`", "--checkpoint.<name>=<value>"),
        fit("--ckpt_path", "`--ckpt_path` needs a value"),
    ),
    "values": (
        fit("--model.max_fpr=30", "max_fpr", "30", "0.3"),
        fit("--model.max_fpr=.nan", "max_fpr", "nan", "[0, 1]"),
        fit("--model.max_fpr=null", "max_fpr", "None"),
        fit("--model.min_tpr=1", "min_tpr", "smaller than 1"),
        fit('--model.regions=[{"max_fpr":3}]', "max_fpr", "3"),
        fit("--model.learning_rate=-1", "learning_rate", "-1"),
        fit("--model.gradient_clip_norm=0", "gradient_clip_norm", "0", "null"),
        fit("--model.prior=3", "model.prior=3", "leave it out"),
        fit("--model.train_size=3", "model.train_size=3", "leave it out"),
        fit("--model.backbone.hidden=[0]", "hidden", "0"),
        fit("--model.backbone.dropout=1.5", "dropout", "1.5"),
        fit("--model.backbone=SmallCNN --model.backbone.width=-4", "width", "-4"),
        fit("--model.backbone=SmallCNN --model.backbone.in_channels=3", "in_channels", "(B, 3, H, W)"),
        fit("--model.backbone=ResNet18", "in_channels", "(B, 3, H, W)"),
        fit("--model.backbone=TimmModel --model.backbone.name=resnet181", "resnet181", "resnet18"),
        fit("--model.init_weights=nothing.ckpt", "init_weights", "nothing.ckpt", "no such file"),
        fit("-c pauci --model.descent_lr=-1", "descent_lr", "-1"),
        fit("-c upauci --model.omega=-1", "omega", "-1"),
        fit("-c pauci --model.warmup_epochs=5 --trainer.max_epochs=5", "warmup_epochs", "5", "max_epochs"),
        fit("-c sopa --model.min_tpr=-1", "min_tpr", "-1"),
        fit("-c agd_sbcd --model.min_tpr=0.5", "min_tpr", "0.5", "one-way"),
        fit("--data.positive_classes=[11]", "positive_classes", "11"),
        fit("--data.positive_classes=[]", "positive_classes"),
        fit("--data.batch_size=0", "batch_size", "0"),
        fit("--data.num_workers=-1", "num_workers", "-1"),
        fit("--data.seed=-1", "seed", "-1"),
        fit("--data.split_file=nothing.json", "split_file", "nothing.json"),
        fit("--seed_everything=-1", "seed_everything", "-1"),
        fit("--seed_everything=99999999999", "seed_everything", "99999999999"),
        fit("--trainer.max_epochs=0", "trainer.max_epochs=0", "positive number"),
        fit("--trainer.max_epochs=-5", "trainer.max_epochs=-5"),
        fit("--trainer.max_steps=0", "trainer.max_steps=0", "trains nothing"),
        fit("--trainer.limit_train_batches=0", "limit_train_batches", "trains nothing"),
        fit("--trainer.limit_train_batches=2.5", "limit_train_batches=2.5", "fraction"),
        fit("--trainer.val_check_interval=-1", "val_check_interval=-1", "fraction"),
        fit("--trainer.check_val_every_n_epoch=0", "check_val_every_n_epoch=0", "at least 1"),
        fit("--trainer.log_every_n_steps=-1", "log_every_n_steps=-1", "at least 0"),
        fit("--trainer.fast_dev_run=-1", "fast_dev_run=-1", "at least 0"),
        fit("--trainer.gradient_clip_val=1", "gradient_clip_val=1", "--model.gradient_clip_norm"),
        fit("--trainer.accumulate_grad_batches=2", "accumulate_grad_batches=2", "--data.batch_size"),
        fit("--trainer.strategy=nope", "trainer.strategy=nope", "ddp"),
        fit("--trainer.strategy=dpd", "Did you mean `ddp`?"),
        fit("--trainer.accelerator=quantum", "trainer.accelerator=quantum", "cpu"),
        fit("--trainer.devices=-3", "trainer.devices=-3", "--trainer.devices=1"),
        fit("--trainer.devices=0", "trainer.devices=0", "--trainer.devices=1"),
        fit("--trainer.devices=abc", "trainer.devices=abc", "auto"),
        fit("--trainer.num_nodes=0", "trainer.num_nodes=0", "at least 1"),
        fit("--trainer.max_time=abc", "abc", "DD:HH:MM:SS"),
        fit("--trainer.profiler=xx", "profiler", "simple"),
        fit("--checkpoint.every_n_train_steps=-3", "every_n_train_steps", "-3"),
        fit("--figures.every_n_epochs=-3", "every_n_epochs", "-3"),
        fit("--run_name=a/b", "run_name", "a/b", "slash"),
        fit("--run_dir=", "run_dir", "runs"),
        fit("--ckpt_path=", "ckpt_path", "empty"),
        fit("--ckpt_path=last", "ckpt_path=last", "which run"),
        fit("--ckpt_path=best", "ckpt_path=best", "which run"),
        fit("--ckpt_path=nothing.ckpt", "nothing.ckpt", "no such file"),
        fit("--ckpt_path=empty", "empty", "directory"),
        fit("--ckpt_path=mine.py", "mine.py", "not a checkpoint"),
        fit("--wandb=online", "wandb login", "--wandb=offline"),
        fit("--wandb_group=", "wandb_group", "128"),
        fit("--tensorboard=maybe", "--tensorboard=maybe", "true"),
    ),
    "compare": (
        pauc("compare", "-c"),
        pauc("compare -c digits --methods cee", "cee"),
        pauc("compare -c digits --methods ce ce", "ce"),
        pauc("compare -c digits --regions 3", "3"),
        pauc("compare -c digits --regions a", "`--regions a`"),
        pauc("compare -c digits --regions 7%,70%", "`--regions 7%,70%`", "for 7 % write 0.07"),
        pauc("compare -c digits --seeds x", "--seeds", "x"),
        pauc("compare -c digits --seeds -1", "--seeds"),
        pauc("compare -c digits --epochs 0", "--epochs", "0"),
        pauc("compare -c digits --warmup_epochs -1", "--warmup_epochs", "-1"),
        pauc("compare -c digits --methods ce --baseline pauci", "pauci", "--methods"),
        pauc("compare -c digits --sedes 3", "--sedes", "Did you mean `--seeds`?"),
        pauc("compare -c digits --methods", "--methods"),
        pauc("compare -c ce --methods ce pauci", "data"),
    ),
    "tune": (
        pauc("tune", "-c"),
        pauc("tune -c digits --methods upuaci", "upuaci", "Did you mean `upauci`?"),
        pauc("tune -c digits --methods ce ce", "ce"),
        pauc("tune -c digits --trials 0", "`--trials 0`", "at least 1"),
        pauc("tune -c digits --minutes -3", "`--minutes -3`", "above 0"),
        pauc("tune -c digits --region 3", "`--region 3`"),
        pauc("tune -c digits --regions 0.3", "--regions", "Did you mean `--region`?"),
        pauc("tune -c digits --model.max_fpr 0.1", "--model.max_fpr", "--region"),
        pauc("tune -c digits --test_best=true", "--test_best", "test part"),
        pauc("tune -c digits --for cee model.momentum=0", "cee", "Did you mean `ce`?"),
        pauc("tune -c digits --pruning hard", "hard", "median"),
        pauc("tune -c ce --methods ce", "data"),
    ),
}


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in MY_MODULES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    for name in ("WANDB_API_KEY", "WANDB_MODE", "PAUC_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    # A home without a key of W&B's, and apart: older releases of wandb keep their cache and settings there.
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


def _parameters() -> list[Any]:
    return [
        pytest.param(case, id=f"{area}: {case.arguments.removeprefix(' '.join(FIT))}")
        for area, cases in CASES.items()
        for case in cases
    ]


@pytest.mark.parametrize("case", _parameters())
def test_a_mistake_is_one_sentence(case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = contents(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(case.arguments.split())
    for module in ("mine", "raising", "broken"):
        sys.modules.pop(module, None)
    assert stopped.value.code == 2
    check_said(capfd.readouterr().err, case.words)
    assert contents(tmp_path) == before


def test_help_lists_every_command_and_the_examples_as_typed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    for command in (
        "fit",
        "resume",
        "validate",
        "test",
        "predict",
        "compare",
        "tune",
        "data",
        "configs",
        "benchmark",
    ):
        assert re.search(rf"^  {command} +\S", said, flags=re.MULTILINE)
    assert "\n  pauc fit -c digits -c upauci --model.max_fpr 0.1\n" in said
    assert all(len(line) <= 80 for line in said.splitlines())
