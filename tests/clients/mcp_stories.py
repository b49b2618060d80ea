"""The stories of mcp.mjs for the client in Python: python mcp_stories.py URL STORY"""

import asyncio
import sys

from mcp import Client


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def answer(client):
    tools = await client.list_tools()
    assert [tool.name for tool in tools.tools] == ["ask", "look", "say", "stop"], tools
    result = await client.call_tool("ask", {"question": "Which lake grew?"})
    assert text_of(result) == "Como grew.", result
    assert result.structured_content["status"] == "finished", result


async def question(client):
    asked = await client.call_tool("ask", {"question": "How much?"})
    assert asked.structured_content["status"] == "paused", asked
    run = asked.structured_content["run"]
    said = await client.call_tool("say", {"run": run, "text": "2024"})
    assert not said.is_error, said
    looked = await client.call_tool("look", {"run": run})
    assert looked.structured_content["answer"] == "Nine.", looked


async def approval(client):
    lines = []

    async def note(progress, total, message):
        lines.append(message)

    asked = await client.call_tool("ask", {"question": "Note an eight."}, progress_callback=note)
    assert any("file_tool" in line for line in lines), lines
    state = asked.structured_content
    assert state["status"] == "paused", asked
    for text in ["confirm", "continue"]:
        said = await client.call_tool("say", {"run": state["run"], "text": text})
        assert said.is_error, said
        again = await client.call_tool("ask", {"question": text, "session": state["session"]})
        assert again.is_error, again
    await client.call_tool("stop", {"run": state["run"]})
    looked = await client.call_tool("look", {"run": state["run"]})
    assert looked.structured_content["status"] == "stopped", looked


async def stop(client):
    asked = await client.call_tool("ask", {"question": "How long, Python?", "wait_s": 0})
    state = asked.structured_content
    assert state["status"] == "running", asked
    await client.call_tool("stop", {"run": state["run"]})
    looked = await client.call_tool("look", {"run": state["run"]})
    assert looked.structured_content["status"] == "stopped", looked


async def error(client):
    refused = await client.call_tool("ask", {"question": "Hello?", "mode": "gpt-5"})
    assert refused.is_error and "Unknown agent" in text_of(refused), refused


async def main(url, name):
    async with Client(f"{url}/mcp") as client:
        await globals()[name](client)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
