"""The programs on the pages run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
# A table, which `tests/primitives_page.py` writes.
WITHOUT_PROGRAMS = ("primitives",)


def programs(page: Path) -> list[str]:
    """Returns the Python blocks of a page, in order."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_shows_both_halves() -> None:
    assert len(programs(ROOT / "README.md")) == 2


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in WITHOUT_PROGRAMS], ids=lambda page: page.stem
)
def test_a_page_has_programs_and_they_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    program = "\n".join(programs(page))
    assert program
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_links_only_to_what_is_there(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
