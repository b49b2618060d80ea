"""An MCP server for tests, with the Python SDK 1.30 or 2.3: prints its port, then serves until it is killed."""

import argparse
import asyncio
import base64
import socket

import uvicorn

try:
    from mcp.server.mcpserver import Context, Image, MCPServer

    IS_NEW = True
except ImportError:
    from mcp.server.fastmcp import Context, Image
    from mcp.server.fastmcp import FastMCP as MCPServer

    IS_NEW = False

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, default=0)
arguments.add_argument("--stateless", action="store_true")
arguments.add_argument("--json", action="store_true")
arguments.add_argument("--sse", action="store_true", help="HTTP+SSE of 2024-11-05, at /sse")
arguments.add_argument("--renamed", action="store_true", help="serve `add` under another name")
arguments = arguments.parse_args()

options = {"stateless_http": arguments.stateless, "json_response": arguments.json}
server = MCPServer("calculator", log_level="CRITICAL", **({} if IS_NEW else options))


@server.tool(name="plus" if arguments.renamed else "add")
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """Draws a pixel."""
    return Image(data=base64.b64decode(PIXEL), format="png")


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("there is no ink")


@server.tool()
def who(context: Context) -> str:
    """Returns the key of the call."""
    return str(context.request_context.request.headers.get("authorization"))


@server.tool()
async def wait() -> str:
    """Never ends."""
    print("waiting", flush=True)
    await asyncio.Event().wait()
    return "over"


app = server.sse_app() if arguments.sse else server.streamable_http_app(**(options if IS_NEW else {}))
listener = socket.create_server(("127.0.0.1", arguments.port))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])
