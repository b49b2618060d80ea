"""Writes the hashes of the packages that requirements.txt pins, so that pip takes no other file.

    python infra/check/pin.py infra/check/requirements.txt

Versions stay unchanged: change a version, or add a line, and run the script again. The index is pip's own.
"""

import json
import pathlib
import re
import subprocess
import sys
import urllib.request

# Platforms of developers and CI: Linux and macOS, with a Python version that xtask accepts.
PLATFORMS = re.compile(r"-any\.whl|(manylinux|macosx).*(x86_64|arm64|aarch64|universal2)\.whl")
PYTHONS = re.compile(r"-(py3|py2\.py3|cp3(11|12|13|14))-|-abi3-")
SIMPLE = "application/vnd.pypi.simple.v1+json"


def index():
    found = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    return found.stdout.strip() or "https://pypi.org/simple"


def is_usable(file):
    return file.endswith(".tar.gz") or bool(PLATFORMS.search(file) and PYTHONS.search(file))


def files(name):
    """Returns the files of a package with hashes, from either form of the simple API (PEP 503, 691)."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    request = urllib.request.Request(f"{index()}/{name}/", headers={"accept": f"{SIMPLE}, text/html;q=0.1"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
        if "json" in answer.headers.get_content_type():
            return [(file["filename"], file["hashes"]["sha256"]) for file in json.loads(text)["files"]]
    return re.findall(r'href="[^"]*/([^/"#]+)#sha256=([0-9a-f]{64})"', text)


def is_of(file, name, version):
    stem = re.sub(r"[-_.]+", "_", name).lower()
    given = re.match(r"(.+?)-(\d[^-]*?)(?:\.tar\.gz$|-)", file)
    return given and re.sub(r"[-_.]+", "_", given[1]).lower() == stem and given[2] == version


def pinned(line):
    name, version = line.split("==")
    hashes = sorted({known for file, known in files(name) if is_of(file, name, version) and is_usable(file)})
    if not hashes:
        sys.exit(f"the index has no file of {line}")
    return " \\\n".join([line, *(f"    --hash=sha256:{known}" for known in hashes)])


def main(path):
    lines = pathlib.Path(path).read_text().splitlines()
    kept = [line.removesuffix(" \\") for line in lines if not line.startswith("    --hash=")]
    pathlib.Path(path).write_text("\n".join(pinned(line) if "==" in line else line for line in kept) + "\n")


main(sys.argv[1])
