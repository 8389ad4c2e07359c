"""What `pip install` brings: the package with the web app built, and nothing that needs Node."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parents[2]


def test_the_wheel_has_the_built_web_app(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*command, str(ROOT)], check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as opened:
        names = opened.namelist()
    static = ROOT / "src" / "recollect" / "http" / "static"
    built = {f"recollect/http/static/{one.relative_to(static)}" for one in static.rglob("*.*")}
    assert "recollect/http/static/index.html" in built
    assert built <= set(names)
    assert not [name for name in names if name.startswith(("web/", "node_modules/")) or name.endswith((".ts", ".tsx"))]
