"""Traces from a request through the jobs it enqueues to the calls that they make.

Only if an exporter is configured (OTEL_EXPORTER_OTLP_ENDPOINT) and the extra `otel` is installed; otherwise spans cost
nothing. Attributes are OpenTelemetry's and Quire's own names, numbers and ids: no content, and no ids of callers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any, Protocol

from app import __version__

Value = str | int | float | bool
OPERATION = "gen_ai.operation.name"

_logger = logging.getLogger(__name__)


class TraceSpan(Protocol):
    def set_attribute(self, key: str, value: Value) -> None: ...

    def update_name(self, name: str) -> None: ...


def tell_usage(span: TraceSpan | None, prompt_tokens: int, completion_tokens: int) -> None:
    """Note what a call to a model used."""
    if span is not None:
        span.set_attribute("gen_ai.usage.input_tokens", prompt_tokens)
        span.set_attribute("gen_ai.usage.output_tokens", completion_tokens)


class Tracing:
    """Tracing switched off: spans cost nothing."""

    is_on = False

    def span(
        self, name: str, *, parent: str | None = None, kind: str = "INTERNAL", **attributes: Value
    ) -> AbstractContextManager[TraceSpan | None]:
        """Open a span for the block. ``parent`` is a traceparent; by default the surrounding span is the parent."""
        return nullcontext()

    def model_call(
        self, operation: str, model: str, provider: str = "openai", **attributes: Value
    ) -> AbstractContextManager[TraceSpan | None]:
        """Open a span for a call to a model, named as OpenTelemetry's conventions for generative AI name it.

        ``provider``: the API's; one that speaks OpenAI's form is named so, unless it is known better.
        """
        named = {OPERATION: operation, "gen_ai.provider.name": provider, "gen_ai.request.model": model}
        found = {**named, **attributes}
        return self.span(f"{operation} {model}", parent=None, kind="CLIENT", **found)

    def traceparent(self) -> str | None:
        """Return the traceparent of the surrounding span, in W3C form."""
        return None

    def close(self) -> None:
        """Send what is not sent yet. Blocks."""


class OpenTelemetry(Tracing):
    """Spans that are sent by OTLP over HTTP, from a thread, in batches."""

    is_on = True

    def __init__(self) -> None:
        trace = import_module("opentelemetry.trace")
        sdk = import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        otlp = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
        resource = import_module("opentelemetry.sdk.resources").Resource.create(
            {"service.name": "quire", "service.version": __version__}
        )
        self._trace: Any = trace
        self._context: Any = import_module(
            "opentelemetry.trace.propagation.tracecontext"
        ).TraceContextTextMapPropagator()
        self._provider: Any = sdk.TracerProvider(resource=resource)
        self._provider.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
        self._tracer: Any = self._provider.get_tracer("quire")

    @contextmanager
    def span(
        self, name: str, *, parent: str | None = None, kind: str = "INTERNAL", **attributes: Value
    ) -> Iterator[TraceSpan | None]:
        around = self._context.extract({"traceparent": parent}) if parent else None
        with self._tracer.start_as_current_span(
            name,
            context=around,
            kind=self._trace.SpanKind[kind],
            attributes=attributes,
            record_exception=False,  # its words may quote what somebody said
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_status(self._trace.StatusCode.ERROR)
                span.set_attribute("error.type", type(error).__name__)
                raise

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        self._context.inject(carrier)
        return carrier.get("traceparent")

    def close(self) -> None:
        self._provider.shutdown()


def tracing_of(endpoint: str | None) -> Tracing:
    """Return tracing as configured, or none if the extra is not installed."""
    if not endpoint:
        return Tracing()
    try:
        return OpenTelemetry()
    except ModuleNotFoundError as missing:
        _logger.warning("no traces: %s is not installed; install the extra `otel`", missing.name)
        return Tracing()
