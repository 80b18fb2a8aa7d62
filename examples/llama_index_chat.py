"""A LlamaIndex chat engine with Quire's memory: llama_index_chat.py CONVERSATION REQUEST; QUIRE_URL names the service.

Install it with pip install "./clients/python[llama-index]".
The model is LlamaIndex's mock, which repeats the prompt: put your own in its place.
"""

import os
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM

from quire_client import Quire
from quire_client.llama_index import QuireMemory

with Quire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")) as quire:
    memory = QuireMemory.from_defaults(quire=quire, conversation=sys.argv[1], user_id="me", budget=8000)
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)
    print(engine.chat(" ".join(sys.argv[2:])))
