"""Run by tests/vendors/test_types.py: judge requests, one a line, as Mistral's own package does."""

import json
import sys

from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import MistralRequestValidatorV13
from pydantic import ValidationError

VALIDATOR = MistralRequestValidatorV13()
BESIDE = ("stream", "tool_choice", "prompt_cache_key")
"""Members of the API that the package leaves to it."""


def problem(body: dict[str, object]) -> str:
    try:
        asked = ChatCompletionRequest(**{name: value for name, value in body.items() if name not in BESIDE})
        VALIDATOR.validate_request(asked)
    except (ValidationError, MistralCommonException) as error:
        return str(error)
    return ""


for line in sys.stdin:
    made, sent = json.loads(line)
    if found := problem(sent):
        sys.stdout.write(f"{made}: {found}\n")
