"""A chat whose memory is Quire's proxy: openai_proxy.py CONVERSATION QUESTION…; needs MODEL. Nothing here is Quire's
but the base URL and the headers: only the newest question is sent, and the model knows all that was said before."""  # noqa: D209

import os
import sys

from openai import OpenAI


def main(conversation: str, *questions: str) -> None:
    client = OpenAI(
        base_url=os.environ.get("QUIRE_URL", "http://127.0.0.1:8000") + "/v1",
        api_key=os.environ.get("QUIRE_API_KEY", "none is needed while Quire has no keys"),
        default_headers={"X-Quire-Conversation": conversation, "X-Quire-User": "example"},
    )
    for question in questions:
        chunks = client.chat.completions.create(
            model=os.environ["MODEL"], messages=[{"role": "user", "content": question}], stream=True
        )
        for chunk in chunks:
            if chunk.choices:
                print(chunk.choices[0].delta.content or "", end="", flush=True)
        print()


main(*sys.argv[1:])
