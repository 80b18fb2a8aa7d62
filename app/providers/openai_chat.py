"""Chat completions from any OpenAI-compatible API."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.core.dialects import fitting
from app.core.messages import THINKING_FIELDS
from app.core.models import GENERAL, ModelRow
from app.providers import ProviderError, RefusedInput, Reply
from app.providers.model_api import ModelApi
from app.providers.model_client import ModelClient
from app.providers.refusals import RefusedParameters
from app.providers.replies import prompt_tokens, reply_of, spent

ANSWER_BYTES_MAX = 512 * 1024
TAGS = ("<think", "<reasoning>")
"""How text begins in which a model thinks."""
THINKING_ROOM = 4
"""Times the tokens of an answer that a model gets which thinks them up before it says anything; remembered."""


class OpenAIChat(ModelClient):
    """A `Chat`. ``count`` counts tokens if the provider reports no usage."""

    def __init__(
        self,
        *,
        model: str,
        api: ModelApi,
        context_window: int,
        count: Callable[[str], int],
        row: ModelRow = GENERAL,
        **times: Any,
    ) -> None:
        super().__init__(model=model, api=api, answer_bytes_max=ANSWER_BYTES_MAX, **times)
        self.context_window = context_window
        self._count = count
        self._row = row
        self._quiet: Mapping[str, Any] = {**(row.off or row.down or {}), **api.extra}
        self._room = 1
        self._dialect = Dialect()

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        json_object: bool = False,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Reply:
        request: dict[str, Any] = {"model": self.model, "messages": messages}
        if tools:
            request["tools"] = tools
        body = await self._calls.call(lambda: self._ask(request, max_tokens, json_object=json_object))

        def prompt() -> int:
            return prompt_tokens(messages, tools, self._count)

        try:
            return reply_of(body, model=self.model, count=self._count, prompt=prompt)
        except ProviderError as error:
            error.spent = spent(body, prompt)
            raise

    async def _ask(self, request: Mapping[str, Any], max_tokens: int, *, json_object: bool) -> Mapping[str, Any]:
        """Send the request in the provider's dialect, which is found by trial and then remembered."""
        dialect, quiet = self._dialect, self._quiet
        while True:
            optional = dialect.parameters(max_tokens * self._room, json_object=json_object)
            try:
                sent = fitting.fit(self._row, "chat", {**request, **quiet, **optional})
                body = await self._wire.post("/chat/completions", sent)
            except RefusedParameters as refused:
                other = dialect.without(refused.parameters & set(optional))
                if other is None:
                    raise
                dialect = other
            except RefusedInput:
                if not quiet:
                    raise
                quiet = {}  # some of it is unknown to this API
            else:
                self._dialect, self._quiet = dialect, quiet
                if self._room > 1 or not thought_too_long(body):
                    return body
                self._room = THINKING_ROOM


def thought_too_long(body: Mapping[str, Any]) -> bool:
    """Return whether thinking used up the answer's tokens."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping) or choice.get("finish_reason") != "length":
        return False
    message, usage = choice.get("message"), body.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    thought = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
    said = message if isinstance(message, Mapping) else {}
    named = any(said.get(n) for n in (*THINKING_FIELDS, "reasoning_details"))
    content = said.get("content")
    is_in_text = isinstance(content, list) or (isinstance(content, str) and content.lstrip().startswith(TAGS))
    return named or is_in_text or (type(thought) is int and thought > 0)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The optional parameters that a provider accepts."""

    json_mode: bool = True
    limit: str = "max_tokens"

    def parameters(self, max_tokens: int, *, json_object: bool) -> dict[str, Any]:
        parameters: dict[str, Any] = {self.limit: max_tokens}
        if json_object and self.json_mode:
            parameters["response_format"] = {"type": "json_object"}
        return parameters

    def without(self, refused: frozenset[str]) -> "Dialect | None":
        """Return the next untried dialect without a refused parameter; None if nothing more can be left out."""
        if "response_format" in refused:
            return replace(self, json_mode=False)
        if "max_tokens" in refused:
            return replace(self, limit="max_completion_tokens")
        return None
