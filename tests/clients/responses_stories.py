"""The stories of responses.mjs for the client in Python: python responses_stories.py BASE_URL STORY"""

import re
import sys

import openai


def texts_of(events):
    """Joins the pieces of each text that did not become void."""
    texts = {}
    for event in events:
        if event.type == "response.output_text.delta":
            texts[event.output_index] = texts.get(event.output_index, "") + event.delta
        elif event.type == "response.output_item.done" and event.item.status == "incomplete":
            texts.pop(event.output_index, None)
    return [text for _, text in sorted(texts.items())]


def final(client, **options):
    with client.responses.stream(model="djinn", **options) as stream:
        return stream.get_final_response()


def stream(client):
    response = final(client, input="Which river is long?")
    assert (response.status, response.output_text) == ("completed", "The Nile."), response
    assert response.usage.total_tokens == 120, response
    assert any(item.type == "reasoning" for item in response.output), response


def previous(client):
    first = client.responses.create(model="djinn", input="Which river is short?")
    assert first.output_text == "The Reprua.", first
    following = client.responses.create(model="djinn", input="How short?", previous_response_id=first.id)
    assert (following.output_text, following.previous_response_id) == ("Eighteen metres.", first.id), following


def background(client):
    started = client.responses.create(model="djinn", input="Which river is deep?", background=True)
    assert started.background and started.id.startswith("run_"), started
    assert texts_of(client.responses.retrieve(started.id, stream=True)) == ["The Congo."]
    ended = client.responses.retrieve(started.id)
    assert (ended.status, ended.output_text) == ("completed", "The Congo."), ended


def cancel(client):
    started = client.responses.create(model="djinn", input="Which river is wide?", background=True)
    stopped = client.responses.cancel(started.id)
    assert stopped.status == "cancelled", stopped
    *_, last = client.responses.retrieve(started.id, stream=True)
    assert (last.type, last.response.status) == ("response.incomplete", "cancelled"), last


def cut(client):
    events = list(client.responses.create(model="djinn", input="Which rivers?", stream=True))
    texts = texts_of(events)
    assert texts == ["Two: ", "The Nile — and the Congo."], texts
    response = events[-1].response
    for count in range(1, len(events)):
        seen = events[:count]
        place = seen[-1].sequence_number
        rest = list(client.responses.retrieve(response.id, stream=True, starting_after=place))
        assert rest[0].sequence_number > place, rest
        assert texts_of(seen + rest) == texts, (count, rest)
        assert rest[-1].response.output == response.output, rest[-1]


def approval(client):
    asked = final(client, input="Note a river.")
    assert asked.output_text.startswith("I note it.\n\n- `file_tool` ("), asked.output_text
    done = final(client, input="confirm", previous_response_id=asked.id)
    assert done.id == asked.id
    assert re.search(r"It is noted\.\n\n- \[note\.md\]\(", done.output_text), done.output_text


def failure(client):
    failed = client.responses.create(model="djinn", input="Which river fails?")
    assert (failed.status, failed.error.code) == ("failed", "model_key_refused"), failed
    try:
        client.responses.retrieve("run_" + "0" * 32)
    except openai.NotFoundError as refusal:
        assert refusal.code == "run_not_found", refusal
    else:
        raise AssertionError("no error")


if __name__ == "__main__":
    base_url, name = sys.argv[1:]
    globals()[name](openai.OpenAI(base_url=base_url, api_key="none", max_retries=0))
