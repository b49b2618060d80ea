"""Writes the packages and fonts of a sandbox's archive.

    python3.13 infra/sandbox/lay_out.py code|documents FOLDER

`FOLDER/packages` receives the sandbox's wheels of requirements.txt for Lambda on arm64, without unused files, and as
byte code only, because a function cannot cache byte code on its read-only disk. `FOLDER/fonts` receives the fonts. The
script prints and checks the total size, which must fit into a function.
"""

import compileall
import hashlib
import io
import py_compile
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")

# Amazon Linux 2023 has glibc 2.34; a wheel names the oldest supported glibc.
PLATFORMS = ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux_2_26_aarch64",
             "manylinux_2_17_aarch64", "manylinux2014_aarch64")

# Fonts (OFL 1.1) in the order of preference: the npm package, the one file taken, and the file's SHA-256.
FONTS = (
    ("@expo-google-fonts/noto-sans-sc@0.4.3", "400Regular/NotoSansSC_400Regular.ttf",
     "d45f67f0a7c0ca3f256950777ce6a61cc7ce5f9696d02900cbbaac25f8aa7d16"),
    ("@expo-google-fonts/noto-sans-kr@0.4.3", "400Regular/NotoSansKR_400Regular.ttf",
     "8cbc9b353bb9ce848fd69bb6a507319dfacc659cf5fd643db5d88f3c4970e1dd"),
    ("@expo-google-fonts/noto-emoji@0.4.7", "400Regular/NotoEmoji_400Regular.ttf",
     "24aaa2a20c9c06ffe9bf04284bfd1f14376a329d10122f902abe2770817eb504"),
    ("@expo-google-fonts/noto-sans-sc@0.4.3", "700Bold/NotoSansSC_700Bold.ttf",
     "9a38ae0ab28cd5a256f9ea8e00dedc688aac17f7915fcb000572990afa956b96"),
    ("@expo-google-fonts/noto-sans@0.4.2", "400Regular/NotoSans_400Regular.ttf",
     "fe8c022f48d8dd29f17b744d16f9346f4357e16f7d4f7be58b000ae7c291b614"),
    ("@expo-google-fonts/noto-sans@0.4.2", "700Bold/NotoSans_700Bold.ttf",
     "13a813c49624ae3ba3c5c6e72c5ebffc4b9e1e6ea32f421c04069b037c6ad431"),
    ("@expo-google-fonts/noto-sans@0.4.2", "400Regular_Italic/NotoSans_400Regular_Italic.ttf",
     "feb3e57888ce3acb604f270c278cfb304c674306518771619ddbdefca42a066b"),
    ("@expo-google-fonts/noto-sans@0.4.2", "700Bold_Italic/NotoSans_700Bold_Italic.ttf",
     "7e34616e092593c340449baf9a259075a054c6419511ccf21ff0d83a1c9dd0d0"),
    ("@expo-google-fonts/noto-sans-arabic@0.4.3", "400Regular/NotoSansArabic_400Regular.ttf",
     "252629ca0e87b6233851249b8cbf7b43445211a8caf199f1b306a19202251508"),
    ("@expo-google-fonts/noto-sans-arabic@0.4.3", "700Bold/NotoSansArabic_700Bold.ttf",
     "a86a704ff8b315082f4859b04c2f8f746f4cefb14553ef10505f143e0d4829d3"),
    ("@expo-google-fonts/noto-sans-hebrew@0.4.1", "400Regular/NotoSansHebrew_400Regular.ttf",
     "e0ee753f09733337b9236221018d4bf71fd6d06c87dd76bbc83120514bc55911"),
    ("@expo-google-fonts/noto-sans-hebrew@0.4.1", "700Bold/NotoSansHebrew_700Bold.ttf",
     "8010b087f33f152e25aef020e68cb5568d6f8deebb6dde8f60d655196e59ebde"),
    ("@expo-google-fonts/noto-sans-thai@0.4.2", "400Regular/NotoSansThai_400Regular.ttf",
     "9acb585d8662ca4ed1b1cf5889dfa1393f8555103b3986e1ea1e3af4faef70bd"),
    ("@expo-google-fonts/noto-sans-thai@0.4.2", "700Bold/NotoSansThai_700Bold.ttf",
     "0be544f347b3ab6382bdc2b555a783727a4858a3dc140670406924670967d916"),
    ("@expo-google-fonts/noto-sans-bengali@0.4.4", "400Regular/NotoSansBengali_400Regular.ttf",
     "6826d9667972f0f96e48c46f7a24e70afe97205032e6295cfb1f13fbbb8b90a3"),
    ("@expo-google-fonts/noto-sans-bengali@0.4.4", "700Bold/NotoSansBengali_700Bold.ttf",
     "3a44a4cf2c4f79c3ead8f52dffd5b3a66f0b2483792d66bad81e1a51e888bfd6"),
)
FONT_LICENSE = "package/LICENSE_FONT"

# Folders that are unused at run time: tests, headers, examples and commands.
NEEDLESS_FOLDERS = ("tests", "test", "__pycache__", "include", "includes", "sample_data")
NEEDLESS_TOP = ("bin", "share", "pypdfium2_cli")
# Files for compilers and type checkers.
NEEDLESS_ENDINGS = (".a", ".c", ".cpp", ".h", ".pxd", ".pxi", ".pyi", ".pyx", ".lib")
# A package that also has all of its code in Python; its compiled modules take 13 MB.
PURE = "fontTools"

# Maximum total size in MB by sandbox: Lambda's limit is 262 (250 MiB), and later versions of packages are larger.
MOST_MB = {"code": 200, "documents": 230}


def main(sandbox, folder):
    if sys.version_info[:2] != (3, 13):
        sys.exit("Python 3.13 is needed, which the function runs on: set PYTHON to one")
    packages, fonts = folder / "packages", folder / "fonts"
    install(packages, requirements_of(sandbox, REQUIREMENTS.read_text()))
    drop_needless(packages)
    compile_all(packages)
    for number, font in enumerate(FONTS, start=1):
        fetch_font(fonts, number, *font)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    print(f"the sandbox for {sandbox} has {size:.0f} MB of {MOST_MB[sandbox]}")
    if size > MOST_MB[sandbox]:
        sys.exit(f"{folder} is larger than that: leave something out of {sandbox}.in")


def requirements_of(sandbox, requirements):
    """Returns the lines of the packages that the sandbox needs, by the comments about the reason for each package."""
    blocks = re.split(r"^(?=\w)", requirements, flags=re.MULTILINE)[1:]
    reasons = {block: set(re.findall(r"^ +# +(?:via +)?(?!via$)(.+)", block, re.MULTILINE)) for block in blocks}
    needed = {f"-r {sandbox}.in"}
    while more := {block.split("==")[0] for block, why in reasons.items() if why & needed} - needed:
        needed |= more
    return "".join(block for block in blocks if block.split("==")[0] in needed)


def install(packages, requirements):
    """Installs the wheels, each with a listed hash."""
    list_of_wheels = packages.with_suffix(".txt")
    list_of_wheels.parent.mkdir(parents=True, exist_ok=True)
    list_of_wheels.write_text(requirements)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install",
           "--root-user-action", "ignore"]
    asked = ["--only-binary", ":all:", "--require-hashes", "--no-compile", "--no-deps", "--implementation", "cp",
             "--python-version", "3.13", "--target", str(packages), "-r", str(list_of_wheels)]
    for platform in PLATFORMS:
        asked += ["--platform", platform]
    subprocess.run(pip + asked, check=True)
    list_of_wheels.unlink()


def drop_needless(packages):
    for name in NEEDLESS_TOP:
        shutil.rmtree(packages / name, ignore_errors=True)
    for path in sorted(packages.rglob("*")):
        if path.is_dir() and path.name in NEEDLESS_FOLDERS:
            shutil.rmtree(path)
        elif path.is_file() and (path.suffix in NEEDLESS_ENDINGS or is_compiled_twice(packages, path)):
            path.unlink()
        elif path.is_file() and ".so" in path.suffixes:
            drop_symbols(path)


def drop_symbols(library):
    """Cuts off what no segment of a library (ELF, 64 bits) loads: names for debuggers, of which typst has 18 MB."""
    with open(library, "r+b") as file:
        head = bytearray(file.read(64))
        if not head.startswith(b"\x7fELF\x02"):
            return
        first, [size, count] = struct.unpack_from("<Q", head, 32)[0], struct.unpack_from("<HH", head, 54)
        file.seek(first)
        segments = file.read(size * count)
        ends = [sum(struct.unpack_from("<Q", segments, size * place + at)[0] for at in (8, 32)) for place in range(count)]
        # A library without the table of sections, which is in the end too.
        struct.pack_into("<Q", head, 40, 0)
        struct.pack_into("<HHH", head, 58, 0, 0, 0)
        file.seek(0)
        file.write(head)
        file.truncate(max(ends))


def is_compiled_twice(packages, path):
    return path.suffix == ".so" and path.relative_to(packages).parts[0] == PURE


def compile_all(packages):
    """Replaces each source file by byte code."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(packages, quiet=1, legacy=True, invalidation_mode=mode,
                                  stripdir=str(packages), workers=0):
        sys.exit("a package does not compile")
    for source in packages.rglob("*.py"):
        source.unlink()


@cache
def fetch_package(package):
    """Returns the bytes of an npm package's archive."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["npm", "pack", "--silent", "--pack-destination", place, package], check=True,
                       stdout=subprocess.DEVNULL)
        [archive] = Path(place).iterdir()
        return archive.read_bytes()


def fetch_font(fonts, number, package, name, sha256):
    """Writes a font with this hash, and its license. The function prefers fonts in the order of their names."""
    with tarfile.open(fileobj=io.BytesIO(fetch_package(package))) as opened:
        font, license = (opened.extractfile(member).read() for member in (f"package/{name}", FONT_LICENSE))
    if hashlib.sha256(font).hexdigest() != sha256:
        sys.exit(f"{package} has another font than is expected")
    fonts.mkdir(parents=True, exist_ok=True)
    (fonts / f"{number:02}-{Path(name).name}").write_bytes(font)
    license_name = f"OFL-{package.split('/')[1].split('@')[0]}.txt"
    (fonts / license_name).write_bytes(license)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())
