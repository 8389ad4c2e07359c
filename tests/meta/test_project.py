"""The project as a whole keeps its promises about size, imports, locks and links."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.meta.source_tree import ROOT, SOURCE, tree

MOST_PACKAGES = 40
HEAVY = ["fastapi", "numpy", "psycopg", "pydantic", "redis", "rich", "starlette", "typer", "uvicorn"]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def project() -> dict[str, list[str]]:
    found: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def closure(requirements: list[str]) -> set[str]:
    """Name every package that an install of these requirements brings to this machine."""
    found: set[str] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name in found and not requirement.extras:
            continue
        found.add(name)
        try:
            inner = requires(name) or []
        except PackageNotFoundError:
            pytest.fail(f"{name} is not installed; run `make test`")
        waiting += [(Requirement(text), wanted) for text in inner for wanted in ("", *requirement.extras)]
    return found


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=290
    )


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_a_core_install_stays_small() -> None:
    packages = closure(project()["dependencies"])
    assert len(packages) + 1 <= MOST_PACKAGES, sorted(packages)


def test_importing_recollect_imports_nothing_heavy() -> None:
    done = run("-c", f"import sys, recollect; print([name for name in {HEAVY} if name in sys.modules])")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_public_names_exist_and_are_sorted() -> None:
    listed = [
        ast.literal_eval(node.value)
        for node in tree(SOURCE / "__init__.py").body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    names: list[str] = listed[0] if listed else []
    # Constants, then classes, then functions, as the linter sorts them.
    assert names == sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))
    done = run("-c", f"import recollect; print([name for name in {names} if not hasattr(recollect, name)])")
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("name", ["base.txt", "dev.txt"])
def test_a_lock_file_holds_hashes_and_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    assert "://" not in text
    assert not re.search(r"^(-|--)(i|f|index|extra-index|find-links|trusted)", text, re.MULTILINE)
    for block in re.split(r"\n(?=\S)", text):
        assert block.startswith("#") or "--hash=sha256:" in block


def test_the_lock_file_holds_every_dependency() -> None:
    text = (ROOT / "requirements" / "base.txt").read_text()
    locked = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", text, re.MULTILINE)}
    wanted = {canonicalize_name(Requirement(line).name) for line in project()["dependencies"]}
    assert wanted - locked == set(), "run `make lock`"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_local_link_leads_somewhere(page: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(target)
    assert not broken


@pytest.mark.timeout(300)  # A first run of mypy has nothing cached.
@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]],
    ids=" ".join,
)
def test_the_code_passes(command: list[str]) -> None:
    done = run("-m", *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_web_app_passes() -> None:
    command = ["npm", "--prefix", "web", "--silent", "run", "check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_store_of_the_web_app_knows_react() -> None:
    stores = sorted((ROOT / "web" / "src" / "state").rglob("*.ts*"))
    assert stores
    assert [one.name for one in stores if re.search(r"""from ["']react|zustand/react""", one.read_text())] == []


def test_imports_go_one_way() -> None:
    done = run("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    assert done.returncode == 0, done.stdout + done.stderr
