"""The MCP server of servers/notes.toml, with the package mcp 2.3: python3 examples/tools/notes_server.py [PORT]

The variable DESCRIPTION replaces the description of the tool `add_note`."""

import os
import sys

from mcp.server import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("notes")
notes: list[str] = []


@server.tool(description=os.environ.get("DESCRIPTION", "Adds a note and returns its number."))
def add_note(text: str) -> int:
    notes.append(text)
    return len(notes)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def list_notes() -> list[str]:
    """Returns all notes, oldest first."""
    return notes


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 9181
    server.run("streamable-http", host="127.0.0.1", port=port, streamable_http_path="/mcp")
