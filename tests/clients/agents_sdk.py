"""OpenAI's Agents SDK by the Responses API: python agents_sdk.py BASE_URL"""

import asyncio
import sys

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI


async def main(base_url):
    set_tracing_disabled(True)
    model = OpenAIResponsesModel("djinn", AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0))
    agent = Agent(name="Reader", instructions="Read the map.", model=model)

    first = await Runner.run(agent, "Which mountain is high?")
    assert first.final_output == "The Eiger.", first.final_output

    # The second turn knows the first, although it brings no history.
    second = await Runner.run(agent, "How high?", previous_response_id=first.last_response_id)
    assert second.final_output == "3967 metres.", second.final_output

    streamed = Runner.run_streamed(agent, "And the next?", previous_response_id=second.last_response_id)
    deltas = [
        event.data.delta
        async for event in streamed.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]
    assert "".join(deltas) == streamed.final_output == "The Jungfrau.", (deltas, streamed.final_output)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
