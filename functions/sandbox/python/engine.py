"""DuckDB in memory, with limits, and without access to files except those named."""

import os

import duckdb
from local_time import time_zone

_MEMORY, _THREADS = "512MB", 2


def open_engine():
    """Returns a connection that may read and write files; see `lock_engine`. Its clock is that of the job's zone."""
    engine = duckdb.connect(":memory:", config={
        "memory_limit": _MEMORY, "threads": _THREADS, "temp_directory": "", "autoinstall_known_extensions": False,
        "autoload_known_extensions": False, "allow_community_extensions": False, "pandas_analyze_sample": 0,
        "python_enable_replacements": False})
    engine.execute(f"SET TimeZone = {quote_text(time_zone())}")
    return engine


def lock_engine(engine, paths):
    """Limits a connection to reading the files `paths`, for good: no statement can change a setting later."""
    allowed = ", ".join(quote_text(os.path.abspath(path)) for path in paths)
    engine.execute(f"SET allowed_paths = [{allowed}]")
    engine.execute("SET enable_external_access = false")
    engine.execute("SET lock_configuration = true")


def quote_name(name):
    """Returns a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text):
    """Returns a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
