"""The documentation builds, strictly: every link leads somewhere, every name that it documents exists."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / ".ci" / "mkdocs.yml")]
    done = subprocess.run([*command, "--site-dir", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    machine = (tmp_path / "machine" / "index.html").read_text()
    assert (tmp_path / "diagrams" / "lifecycle.svg").exists()
    assert "first whose guard holds" in machine or "Every state and every event" in machine
    assert "RunnerSupervisor" in (tmp_path / "api" / "index.html").read_text()
    assert "prefill_timeout" in (tmp_path / "settings" / "index.html").read_text()
