"""The dialects that agents speak to the proxy, and those that models' APIs speak to it.

Three are served and three are spoken: Chat Completions, Messages and Responses. None is translated into another.
Each has a module for the client's side (``inbound_…``: a request is read, an answer is written) and one for the
model's side (``upstream_…``: a request is made, an answer is read), and all meet in one neutral form:

    client → inbound_….question → Question ─ store, window ─ upstream_….request → model
    client ← inbound_… Writer  ←  chunks  ─ recall, store ─ upstream_… AnswerReader ← model

* A **Question** has the messages as Quire stores them (OpenAI's or Anthropic's form, message by message), the tools
  as functions in OpenAI form and the other options as Chat Completions names them. It keeps the body as it was sent
  too: an API of the same dialect gets every option unchanged.
* An answer is a stream of **chunks** of Chat Completions, even where nobody streams. What only one dialect has
  (signed thinking, encrypted reasoning, hosted tools) is **native**: its events are in ``delta.native`` and go on
  unchanged to clients of the same dialect; its whole parts are stored, are in no other dialect's window and return
  to their place.

``untranslated`` is the table of what has no counterpart.
"""
