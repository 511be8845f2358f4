#!/usr/bin/env python3
"""Fails when a comment or document cites a document, or a section of one, that is not in the repository.

A citation is a path that ends in .md, read from the root or from the citing file, perhaps followed by §N or
by a section's title in quotes. After a quotation mark it is a file that code writes.

    check_citations.py ROOT
"""

import re
import sys
from pathlib import Path

FOLDERS = ["src", "tests", "tools", "docs", "cmake", ".ci"]
SUFFIXES = {".h", ".cc", ".md", ".py", ".sh", ".cmake", ".txt"}
CITATION = re.compile(r'(?<![\w./{}*"-])((?:\.\./|[\w-]+/)*[\w-]+\.md)\b\)?(?:,? §(\d+)|, "([^"]+)")?')


def files(root):
    """Every file that may cite; `run` below .ci has no suffix."""
    found = [path for path in root.iterdir() if path.suffix == ".md"]
    for folder in FOLDERS:
        below = (root / folder).rglob("*")
        found += [path for path in below if path.suffix in SUFFIXES or path.name == "run"]
    return sorted(path for path in found if path.is_file())


def problem(root, path, name, number, title):
    """Why a citation leads nowhere, or None."""
    document = next((place for place in (root / name, path.parent / name) if place.is_file()), None)
    if document is None:
        return "is not in the repository"
    lines = document.read_text().splitlines()
    headings = [line.lstrip("#").strip() for line in lines if line.startswith("#")]
    if number and not any(heading.startswith(f"{number}. ") for heading in headings):
        return f"has no section {number}"
    if title and title not in headings:
        return f'has no section "{title}"'
    return None


def main(root):
    bad = 0
    for path in files(root):
        text = re.sub(r"\s*\n\s*(//|#)?\s*", " ", path.read_text())  # a citation may run over two lines
        for name, number, title in CITATION.findall(text):
            if reason := problem(root, path, name, number, title):
                print(f"{path.relative_to(root)}: {name} {reason}", file=sys.stderr)
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
