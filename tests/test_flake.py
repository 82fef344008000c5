"""flake.nix has the packages of pyproject.toml, and evaluates with a stub of nixpkgs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

WITHOUT_NIX = "nix-instantiate is not installed"
NOT_IN_NIXPKGS = {"autojudge-base", "autojudge-evaluate", "evalica"}
NOT_FOR_TESTS = {"build", "latex2mathml", "mypy", "ruff", "scipy-stubs", "types-jsonschema", "zensical"}
STUB = """
{ system, config ? { } }: rec {
  python3Packages = builtins.listToAttrs (map (name: { inherit name; value = name; }) [ NAMES ]) // {
    buildPythonApplication = arguments: arguments;
    python.withPackages = choose: choose python3Packages;
  };
  mkShell = arguments: arguments // { packages = builtins.head arguments.packages; };
  mypy = "mypy";
  ruff = "ruff";
}
"""
NIXPKGS = """
let
  pkgs = import ./stub.nix;
  outputs = (import ./flake.nix).outputs {
    self = outputs // { outPath = toString ./.; };
    nixpkgs = {
      outPath = toString ./stub.nix;
      lib = {
        genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
        licenses.bsd3 = "BSD-3-Clause";
        optionalAttrs = condition: set: if condition then set else { };
      };
      legacyPackages = builtins.listToAttrs (
        map (name: { inherit name; value = pkgs { system = name; }; })
          [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ]
      );
    };
  };
in
outputs
"""


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def names_of(project: Mapping[str, Any], *extras: str) -> set[str]:
    """The packages of extras, including those of the extras that they name."""
    found: set[str] = set()
    for requirement in (line for extra in extras for line in project["optional-dependencies"][extra]):
        inner = re.fullmatch(r"exam_pp\[(.*)\]", requirement)
        found |= names_of(project, *inner[1].split(",")) if inner else {name_of(requirement)}
    return found


def name_of(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0]


def listed(repository: Path, name: str) -> set[str]:
    """The packages of a list of flake.nix."""
    flake = (repository / "flake.nix").read_text("utf-8")
    (found,) = re.findall(rf"^      {name} = py: with py; \[(.*?)\];", flake, re.MULTILINE | re.DOTALL)
    return set(found.split())


def test_the_lists_are_those_of_the_project(repository: Path, project: dict[str, Any]) -> None:
    assert listed(repository, "core") == set(map(name_of, project["dependencies"]))
    assert listed(repository, "models") == names_of(project, "hf", "fast")
    tests = names_of(project, "dev", "openai") - NOT_IN_NIXPKGS - NOT_FOR_TESTS
    assert listed(repository, "tests") == tests


@pytest.fixture(scope="module")
def outputs(
    repository: Path, project: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """The outputs of the flake, evaluated with a stub of nixpkgs that has the packages of pyproject.toml."""
    if shutil.which("nix-instantiate") is None:
        pytest.skip(WITHOUT_NIX)
    folder = tmp_path_factory.mktemp("flake")
    for name in ("flake.nix", "pyproject.toml"):
        shutil.copy(repository / name, folder)
    names = set(map(name_of, project["dependencies"])) | {"hatchling", "pytestCheckHook"}
    names |= names_of(project, "dev", "fast", "openai") - NOT_IN_NIXPKGS
    (folder / "stub.nix").write_text(STUB.replace("NAMES", " ".join(map(json.dumps, sorted(names)))))
    (folder / "nixpkgs.nix").write_text(NIXPKGS)
    environment = os.environ | {"HOME": str(folder), "NIX_STATE_DIR": str(folder)}
    done = subprocess.run(
        ["nix-instantiate", "--eval", "--strict", "--json", "nixpkgs.nix"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_package(outputs: dict[str, Any], project: dict[str, Any]) -> None:
    assert set(outputs) == {"packages", "checks", "devShells"}
    package = outputs["packages"]["x86_64-linux"]["default"]
    assert package["version"] == project["version"]
    assert {name_of(line) for line in project["dependencies"]} <= set(package["dependencies"])
    assert package["meta"]["license"] == project["license"]
    assert package["meta"]["mainProgram"] in project["scripts"]
    for extra, packages in package["optional-dependencies"].items():
        assert set(packages) == names_of(project, extra)
    assert outputs["checks"]["aarch64-darwin"]["default"] == outputs["packages"]["aarch64-darwin"]["default"]


def test_the_shells(outputs: dict[str, Any]) -> None:
    shells = outputs["devShells"]
    assert set(shells["x86_64-linux"]) == {"default", "cpu", "cuda"}
    assert set(shells["aarch64-linux"]) == {"default", "cpu"}
    assert {"click", "torch", "scipy", "pytest"} <= set(shells["x86_64-linux"]["cuda"]["packages"])
