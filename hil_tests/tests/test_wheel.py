"""The wheel, built from this checkout and installed alone in an empty environment, works."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 240
# The first is burned with five more; no two rounds have the same cards.
_CARDS = [rank + suit for suit in "CDHS" for rank in "5A23467TJQK98"]
_PACKAGES = {"sabot", "sabot_firmware", "sabot_hil", "sabot_protocol", "sabot_rig"}


def _run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return its output. It has no access to the checkout by folder or PATH."""
    environment = {"PATH": os.defpath, "HOME": str(cwd), "COLUMNS": "200"}
    environment |= {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
    run = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=_TIMEOUT_S
    )
    assert run.returncode == 0, f"{command}: {run.stdout}{run.stderr}"
    return run.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
    run = subprocess.run(
        [*pip, str(_ROOT)], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    assert run.returncode == 0, run.stderr
    (made,) = folder.glob("sabot-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of commands of an environment with the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder)
    # The pip that is there already installs it, and compiles nothing that is never imported.
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    subprocess.run(
        [*pip, "install", "--quiet", "--no-compile", f"sabot[hil] @ {wheel.as_uri()}"],
        check=True,
        capture_output=True,
        timeout=_TIMEOUT_S,
    )
    yield folder / "bin"


def test_it_installs_packages_called_sabot_only_typed_and_without_tests(wheel: Path) -> None:
    names = [Path(name) for name in zipfile.ZipFile(wheel).namelist()]
    tops = {name.parts[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == _PACKAGES
    data = [Path(*name.parts[1:]) for name in names if name.parts[0].endswith(".data")]
    assert data == [Path("scripts/sabot")]
    assert not [name for name in names if {"tests", "fakes", "support"} & {*name.parts}]
    for package in _PACKAGES:
        assert Path(package) / "py.typed" in names, package


@pytest.mark.timeout(_TIMEOUT_S + 60)
def test_a_shoe_is_dealt_logged_and_verified_from_it(installed: Path, tmp_path: Path) -> None:
    sabot = installed / "sabot"
    (tmp_path / "deck.txt").write_text("\n".join(_CARDS) + "\n")
    short = ("--deck", "deck.txt", "--short", "--pace", "0")
    printed = _run(sabot, "demo", *short, "--db", "demo.sqlite", cwd=tmp_path)
    assert "0 findings" in printed
    simulated = subprocess.Popen(
        [sabot, "sim", "--unit", "SHOE-7", *short],
        cwd=tmp_path,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert simulated.stdout is not None and "/dev/" in simulated.stdout.readline()
        _run(sabot, "log", "SHOE-7", "--once", "--db", "log.sqlite", cwd=tmp_path)
    finally:
        simulated.terminate()
        simulated.wait(_TIMEOUT_S)
        assert simulated.stdout is not None
        simulated.stdout.close()
    assert "nothing to find fault with" in _run(
        sabot, "verify", "--db", "log.sqlite", "--keys", "sabot.keys", cwd=tmp_path
    )
    assert json.loads(
        _run(sabot, "rounds", "--db", "log.sqlite", "--json", cwd=tmp_path).split("\n")[0]
    )


def test_games_a_release_and_the_test_bench_work_from_it(installed: Path, tmp_path: Path) -> None:
    sabot = installed / "sabot"
    assert "mini" in _run(sabot, "games", cwd=tmp_path)
    assert "--uf2" in _run(sabot, "hil", "--help", cwd=tmp_path)
    passphrase = {"SABOT_PASSPHRASE": "a passphrase of the test"}
    for command in (
        ("keys", "release", "make", "-o", "releases"),
        ("build", "-o", "release", "--key", "releases.pem"),
    ):
        run = subprocess.run(
            [sabot, *command],
            cwd=tmp_path,
            env={"PATH": os.defpath, "HOME": str(tmp_path)} | passphrase,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        assert run.returncode == 0, run.stderr
    assert (tmp_path / "release" / "manifest.cbor").is_file()


@pytest.mark.timeout(_TIMEOUT_S + 60)
def test_the_test_bench_deals_on_the_simulator_from_it(installed: Path, tmp_path: Path) -> None:
    command = ("hil", "--target", "sim", "--suite", "smoke", "-k", "ready or card", "--report", "r")
    _run(installed / "sabot", *command, cwd=tmp_path)
    assert (tmp_path / "r" / "junit.xml").is_file()
