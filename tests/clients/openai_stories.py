"""The stories of openai.mjs for the client in Python: python openai_stories.py BASE_URL STORY"""

import os
import sys

import openai


def question(text):
    return [{"role": "user", "content": text}]


def join(stream):
    """Joins the chunks of a stream."""
    content, finish, tokens = "", "", 0
    for chunk in stream:
        tokens = chunk.usage.total_tokens if chunk.usage else tokens
        for choice in chunk.choices:
            content += choice.delta.content or ""
            finish = choice.finish_reason or finish
    return content, finish, tokens


def models(client):
    names = [model.id for model in client.models.list()]
    assert "djinn" in names and "djinn-plan-solve" in names, names


def stream(client):
    chunks = client.chat.completions.create(
        model="djinn",
        messages=question("Which region grew?"),
        stream=True,
        stream_options={"include_usage": True},
    )
    joined = join(chunks)
    assert joined == ("North grew.", "stop", 120), joined


def document(client):
    completion = client.chat.completions.create(model="djinn-react", messages=question("Which region shrank?"))
    assert completion.choices[0].message.content == "South shrank.", completion
    assert completion.usage.total_tokens == 120, completion


def session(client):
    headers = {"x-session-id": f"python-{os.getpid()}"}

    def ask(text):
        completion = client.chat.completions.create(model="djinn", messages=question(text), extra_headers=headers)
        return completion.choices[0].message.content

    assert ask("What is your name?") == "Djinn."
    assert ask("And once more?") == "Djinn, as I said."


def approval(client):
    messages = question("Note a nine.")
    content, finish, _ = join(client.chat.completions.create(model="djinn", messages=messages, stream=True))
    assert content.startswith("I note it.\n\n- `file_tool` (") and finish == "stop", content
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": "confirm"}]
    content, _, _ = join(client.chat.completions.create(model="djinn", messages=messages, stream=True))
    assert content.startswith("It is noted.\n\n- [note.md]("), content


def error(client):
    try:
        client.chat.completions.create(model="gpt-5", messages=question("Hello?"))
    except openai.BadRequestError as refusal:
        assert (refusal.code, refusal.param) == ("unknown_agent", "model"), refusal
    else:
        raise AssertionError("no error")


if __name__ == "__main__":
    base_url, name = sys.argv[1:]
    globals()[name](openai.OpenAI(base_url=base_url, api_key="none"))
