"""Conversations by a client in Python, for conversations.mjs: python conversations.py chat|responses|mcp URL

Each line of the input is a method with its arguments in JSON, and each line of the output is the state after it. The
method `open` begins a conversation in a session.
"""

import asyncio
import json
import sys
import traceback


class Chat:
    def __init__(self, url, session):
        import openai

        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        self.session = session

    async def ask(self, question, mode=None, file=None):
        content = [{"type": "text", "text": question}]
        if file:
            content.append({"type": "file", "file": {"filename": file["name"], "file_data": file["uri"]}})
        text, finish = "", None
        chunks = self.client.chat.completions.create(
            model=model_of(mode),
            messages=[{"role": "user", "content": content}],
            stream=True,
            extra_headers={"x-session-id": self.session},
        )
        for chunk in chunks:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
        if finish == "length":
            return await self.resume()
        assert finish == "stop", finish
        return {"text": text}

    async def say(self, text):
        return await self.ask(text)

    async def resume(self):
        return await self.ask("continue")


class Responses:
    ENDS = ("response.completed", "response.failed", "response.incomplete")

    def __init__(self, url, session):
        import openai

        self.client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        self.session = session
        self.events = []

    async def ask(self, question, mode=None, file=None):
        content = [{"type": "input_text", "text": question}]
        if file:
            content.append({"type": "input_file", "filename": file["name"], "file_data": file["uri"]})
        self.events = []
        return await self.read(
            self.client.responses.create(
                model=model_of(mode),
                input=[{"role": "user", "content": content}],
                extra_body={"conversation": self.session},
                stream=True,
            )
        )

    async def say(self, text):
        return await self.ask(text)

    async def resume(self):
        response, last = self.events[0].response.id, self.events[-1].sequence_number
        return await self.read(self.client.responses.retrieve(response, stream=True, starting_after=last))

    async def read(self, events):
        for event in events:
            self.events.append(event)
        last = self.events[-1]
        if last.type not in self.ENDS:
            return await self.resume()
        error = last.response.error.message if last.response.error else ""
        return {"text": last.response.output_text + error, "status": last.response.status}


class Mcp:
    def __init__(self, url, session):
        self.url = f"{url}/mcp"
        self.session = session
        self.run = None

    async def call(self, name, arguments):
        from mcp import Client

        async with Client(self.url) as client:
            result = await client.call_tool(name, arguments)
        state = result.structured_content
        self.run = state["run"]
        texts = [block.text for block in result.content if block.type == "text"]
        text = "\n".join([state.get("answer") or "", *texts])
        files = [file["url"] for file in state.get("files") or []]
        return {"text": text, "status": state["status"], "files": files}

    async def ask(self, question, mode=None, file=None):
        arguments = {"question": question, "session": self.session, **({"mode": mode} if mode else {})}
        state = await self.call("ask", arguments)
        return await self.resume() if state["status"] == "running" else state

    async def say(self, text):
        await self.call("say", {"run": self.run, "text": text})
        return await self.resume()

    async def resume(self, run=None):
        self.run = run or self.run
        while True:
            state = await self.call("look", {"run": self.run})
            if state["status"] != "running":
                return state


def model_of(mode):
    return f"djinn-{mode.replace('_', '-')}" if mode else "djinn"


async def main(client, url):
    kind = {"chat": Chat, "responses": Responses, "mcp": Mcp}[client]
    conversation = None
    for line in sys.stdin:
        arguments = json.loads(line)
        name = arguments.pop("name")
        try:
            if name == "open":
                conversation, state = kind(url, **arguments), {}
            else:
                state = await getattr(conversation, name)(**arguments)
        except Exception:
            state = {"error": traceback.format_exc()}
        print(json.dumps(state), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
