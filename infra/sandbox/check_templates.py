"""Prints the faults of the files for documents in a deployment's folder `templates`: `check_templates.py FOLDER`.

Each file is used for a document, by the Python of the sandbox.
"""

import contextlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "functions/sandbox/python"))

import house
from render import render

# The files with their names in a theme, and a format of documents that use them.
FILES = (("master.docx", "docx", "docx"), ("master.pptx", "pptx", "pptx"), ("logo.png", "logo", "docx"),
         ("logo.jpg", "logo", "docx"))


def list_faults(file, key, form):
    """Returns the reasons why documents would not use a file."""
    if key == form and not zipfile.is_zipfile(file):
        return [f"it is no {form} file"]
    house.use_theme({key: str(file)})
    # The output of this script is its faults.
    with contextlib.redirect_stdout(sys.stderr):
        document = render(form, "document", "# Title\n\n## Part\n\n- Text", "", "en", [])
    start = f"theme: {key}: "
    problems = [f"no document can be created with it: {document['problem']}"] if document["problem"] else []
    return problems + [note.removeprefix(start) for note in document["notes"] if note.startswith(start)]


def main(folder):
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name, key, form in FILES:
            if (folder / name).is_file():
                for fault in list_faults(folder / name, key, form):
                    print(f"templates/{name}:1: {fault}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
