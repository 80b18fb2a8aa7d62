#!/bin/sh
# Append, fetch the window, call a recall tool. Set QUIRE_URL and CONVERSATION.
set -eu
conversation="${QUIRE_URL:-http://127.0.0.1:8000}/conversations/${CONVERSATION:-curl-$$}"

quire() { # method, path below the conversation, JSON body; an error ends the script and is printed
    curl -sS --fail-with-body -X "$1" "$conversation$2" -H 'content-type: application/json' ${3:+--data "$3"}
    echo
}

echo "A user message, a tool call and its result, the answer:"
quire POST /messages '{
  "user_id": "me",
  "messages": [
    {"role": "user", "content": "What is the weather in Hangzhou?"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Hangzhou\"}"}}]},
    {"role": "tool", "tool_call_id": "call_1", "content": "18 °C, light rain"},
    {"role": "assistant", "content": "18 °C with light rain; take an umbrella."}
  ]
}'

echo "The next user message, and with it the window for the next model call:"
quire POST '/messages?include=context&budget=8000' '{"messages": [{"role": "user", "content": "And tomorrow?"}]}'

echo "The same window by itself, in Anthropic's format:"
quire GET '/context?budget=8000&format=anthropic'

echo "The model called recall_page(1): run it; what comes back is the tool's result."
quire POST /tools/recall_page '{"arguments": {"page": 1}}'
