"""A chat through Quire's proxy: openai_proxy.py CONVERSATION QUESTION…; needs MODEL. Only the base URL and the headers
are Quire's. The client sends only the newest question, and the model knows the whole conversation."""  # noqa: D209

import os
import sys

from openai import OpenAI

if len(sys.argv) < 3:
    sys.exit(__doc__)


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
