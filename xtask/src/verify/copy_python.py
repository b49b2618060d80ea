"""Copies this Python with its packages into a folder (argv[1]) where other users can read it.

`python -I -c ... FOLDER` prints the path of the copy's interpreter.
"""

import os
import shutil
import sys
import sysconfig

place = sys.argv[1]
version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
library = os.path.join(place, "lib", version)
left_out = shutil.ignore_patterns("__pycache__", "test", "tests", "idlelib", "ensurepip", "site-packages")
shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=left_out, symlinks=False)
packages = os.path.join(library, "site-packages")
shutil.copytree(sysconfig.get_path("purelib"), packages, ignore=shutil.ignore_patterns("__pycache__"))
folder = sysconfig.get_config_var("LIBDIR") or ""
for name in os.listdir(folder) if os.path.isdir(folder) else []:
    if name.startswith("libpython"):
        shutil.copy2(os.path.join(folder, name), os.path.join(place, "lib", name))
os.makedirs(os.path.join(place, "bin"))
program = os.path.join(place, "bin", version)
shutil.copy2(os.path.realpath(sys.executable), program)
# The interpreter may be configured with a library path that other users cannot read.
starter = os.path.join(place, "bin", "python")
with open(starter, "w", encoding="utf-8") as file:
    file.write(f'#!/bin/sh\nLD_LIBRARY_PATH="{place}/lib" exec "{program}" "$@"\n')
os.chmod(starter, 0o755)
print(starter)
