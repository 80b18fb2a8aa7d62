"""A fake of 30 model APIs that is as strict as they are. `app()` is to be served on loopback.

It speaks Chat Completions, Responses and Messages, streamed and not. The vendor is the path's (`/kimi/v1/chat/completions`), else --vendor, else the
one whose model name the request's begins with (`kimi-k2.6`), else `openai`. A vendor is ONE row of ROWS and nothing else: the checks know no vendor.
`POST /__rows {"name": {"like": "openai", ...}}` adds rows, so that a vendor nobody has can be played.

What the model does is in the newest user message that has a command (outside of a block `<--ignore> ... </--ignore>`):
    [[call NAME {"json": 1}]]   one call of that tool, then a text    [[calls A {..} | B {..}]]  parallel calls    [[chain NAME 3]]  one call a round, three rounds
    [[say TEXT]]  that text     [[none]]  nothing but thinking        nothing: "Answer N."
A tool that is not offered is not called. GET /__log?since=N: requests, refusals and what was answered; GET /__cache: what each vendor's cache rule read and
wrote, and the price against the uncached one (tokens = UTF-8 bytes / 4); POST /__reset forgets both. Signatures are checked against those handed out here.
"""
from __future__ import annotations
import base64, hashlib, itertools, json, os, re, time, uuid

SKIP = "skip_thought_signature_validator"                     # Google's documented stand-in for a lost signature
PREFIX = lambda block, least, read, **k: {"kind": "prefix", "block": block, "least": least, "read": read, "write": 1.0, **k}
MARKS = lambda field, least, read=0.1, write=1.25, **k: {"kind": "marks", "field": field, "least": least, "read": read, "write": write, "most": 4, "back": 20, **k}
PLAIN = dict(
    dialect="chat",        # chat, messages or responses: what its endpoint speaks (a path may ask for another that the row allows in `also`)
    also=(), models=(),
    gives=None,            # where an answer has its thinking: a field's name, "think" (tags in the text), "chunks" (Mistral), "signature" (on calls), "details"
    needs=None,            # what must come back: "calls" on each message that calls; "turns" on all answers of a turn that called; "first" on the first call of each such message
    blank=True,            # whether an empty text (or SKIP for a signature) stands in for it
    forbids=(),            # fields of an assistant message that are refused
    closed=None,           # the only fields that an assistant message may have
    ids=None,              # pattern of a call's id in a request
    gives_ids="call_{hex}",  # ids it gives; {n}: the place in the answer, {name}: the tool
    unique=False,          # refuses an id that two calls of the list have
    null=True, empty=True,  # whether content may be null, or "", beside calls
    lists=("system", "developer", "user", "assistant", "tool"),  # roles whose content may be a list of parts
    alternate=False,       # user and assistant must alternate (tool messages aside)
    system="any",          # "any", "leading", "one": at most one, first; "after-user": first or right behind a user's
    developer=True, user_needed=False,
    limit="any",           # "any", "max_tokens", "max_completion_tokens": the only one accepted
    temperature="any",     # "any", "one": only 1, "thinking": refused while it thinks
    choice=("auto", "none", "required", "named"), choice_thinking=None,
    thinks=False, off=None,  # thinks by default; the field that turns it off, as a body; None: cannot be turned off
    off_refused=(),        # (field, value) pairs that are refused
    unstreamed=None,       # body that an unstreamed request must contain
    stream="sse",          # "sse", "json": answers plain JSON to stream: true, "indexless": calls without index, one a chunk
    params=None,           # the only parameters accepted
    formats=("text", "json_object", "json_schema"),
    parallel=True, error="openai", status=400, cache=PREFIX(128, 1024, 0.1), usage="openai", window=128_000, output=16_384,
    bound=False,           # Messages: a thinking block is bound to everything before it (system, tools, messages); only the oldest may be left out
    finish="tool_calls", sealed=False,                         # sealed: signatures must be its own
    seal=("extra_content", "google", "thought_signature"), details="reasoning_details")  # where a call has its signature; the field of listed thinking
ROWS: dict[str, dict] = {}
def row(name: str, models: str = "", like: str | None = None, **rules) -> None:
    ROWS[name] = {**(ROWS[like] if like else PLAIN), **rules, "name": name, "models": tuple(models.split())}

CHAT_PARAMS = set("model messages stream stream_options max_tokens max_completion_tokens temperature top_p tools tool_choice response_format stop presence_penalty frequency_penalty n seed".split())
row("openai", "gpt-4o gpt-4.1")
row("openai-o", "o3 o4-mini gpt-5", like="openai", limit="max_completion_tokens", temperature="one", thinks=True, window=200_000, output=100_000, cache=PREFIX(128, 1024, 0.25))
row("openai-6", "gpt-5.6 gpt-6 gpt-6.1", like="openai-o", off={"reasoning_effort": "none"}, temperature="thinking", window=922_000, output=128_000,
    cache=MARKS("prompt_cache_breakpoint", 1024, implicit=True, back=80, roles=("system", "developer", "user", "tool"), key="prompt_cache_key"))
row("azure", "azure-gpt-5", like="openai-o")
row("gemini", "gemini-3 gemini-4", gives="signature", needs="first", blank=True, sealed=True, stream="indexless", finish="stop", error="gemini", thinks=True, window=1_048_576, output=65_536, cache=PREFIX(1, 1024, 0.1), ids=r".+")
row("deepseek", "deepseek-v4-pro", gives="reasoning_content", needs="calls", thinks=True, off={"thinking": {"type": "disabled"}}, choice_thinking=("auto", "none"), formats=("text", "json_object"),
    lists=("user",), usage="deepseek", window=1_048_576, output=384_000, cache={"kind": "units", "least": 64, "read": 0.02, "write": 1.0, "every": 1024})
row("deepseek-strict", "deepseek-v4-flash deepseek-flash", like="deepseek", needs="turns")
row("kimi", "kimi-k2.5 kimi-k2.6 kimi-k2.7", gives="reasoning_content", needs="calls", thinks=True, off={"thinking": {"type": "disabled"}}, temperature="one", choice=("auto", "none"), lists=("user",),
    off_refused=(("reasoning_effort", "none"),), usage="kimi", error="kimi", window=262_144, output=262_144, cache=PREFIX(256, 256, 0.17), gives_ids="{name}:{n}")
row("kimi-k3", "kimi-k3", like="kimi", off=None, off_refused=(("thinking", {"type": "disabled"}), ("reasoning_effort", "none")), window=1_048_576, output=1_048_576, cache=PREFIX(256, 256, 0.1))
row("glm", "glm-5 glm-4.6 glm-4.7", gives="reasoning_content", needs=None, thinks=True, off={"thinking": {"type": "disabled"}}, choice=("auto",), user_needed=True, error="glm", developer=False,
    window=1_000_000, output=128_000, cache=PREFIX(1, 1024, 0.19), formats=("text", "json_object"))
row("glm-5.3", "glm-5.3", like="glm", off=None, off_refused=(("thinking", {"type": "disabled"}),), formats=("text", "json_object", "json_schema"))
row("minimax", "MiniMax-M3", gives="details", thinks=True, off={"thinking": {"type": "disabled"}}, limit="any", temperature="positive", formats=("text",), choice=("auto", "none"), window=1_000_000, output=128_000, cache=PREFIX(1, 512, 0.2))
row("minimax-m2", "MiniMax-M2", like="minimax", gives="think", needs="calls", off=None, window=200_000)
row("mimo", "mimo-v2", gives="reasoning_content", needs="calls", thinks=True, off={"thinking": {"type": "disabled"}}, null=False, lists=("user",), error="mimo", window=1_048_576, output=131_072,
    params=CHAT_PARAMS | {"thinking", "reasoning_effort"}, choice=("auto",), formats=("text", "json_object"))
row("qwen", "qwen3.8 qwen3.7 qwen4 qwen-max qwen-plus", gives="reasoning_content", thinks=True, off={"enable_thinking": False}, choice_thinking=("auto", "none"), window=991_808, output=131_072, usage="qwen",
    cache=MARKS("cache_control", 1024, otherwise=PREFIX(1, 1024, 0.2), roles=("system", "user", "assistant", "tool")))
row("qwen-open", "qwen3-235b qwen3-32b qwen3-30b", like="qwen", unstreamed={"enable_thinking": False}, window=129_024, output=16_384, cache=PREFIX(1, 1024, 0.2))
row("doubao", "doubao-seed", gives="reasoning_content", thinks=True, off={"thinking": {"type": "disabled"}}, developer=False, formats=("text", "json_object", "json_schema"), error="ark", window=256_000, output=256_000, cache=PREFIX(1, 1024, 0.2))
row("hunyuan", "hy3 hy4 hunyuan", gives="reasoning_content", needs=None, thinks=True, off={"reasoning_effort": "no_think"}, choice=("auto",), developer=False, window=262_144, output=128_000, cache=PREFIX(1, 1024, 0.05))
row("ernie", "ernie-5 ernie-4.5", gives="reasoning_content", thinks=True, off={"enable_thinking": False}, developer=False, system="one", window=128_000)
row("step", "step-3 step-5", gives="reasoning", thinks=True, window=262_144, output=262_144, cache=PREFIX(1, 1024, 0.2))
row("mistral", "mistral- magistral ministral devstral-latest", gives="chunks", system="after-user", closed={"role", "content", "tool_calls", "prefix"}, ids=r"[A-Za-z0-9]{9}", gives_ids="{nine}", developer=False, limit="max_tokens", error="mistral", status=422,
    thinks=True, off={"reasoning_effort": "none"}, params=(CHAT_PARAMS - {"max_completion_tokens", "stream_options", "seed"}) | {"reasoning_effort", "prompt_cache_key", "parallel_tool_calls", "random_seed", "safe_prompt"}, window=262_144, output=262_144)
row("grok", "grok-", gives="reasoning_content", thinks=True, off_refused=(("reasoning_effort", "none"),), window=500_000, output=128_000, cache=PREFIX(1, 1024, 0.25, key="x-grok-conv-id"))
row("cohere", "command-", developer=True, choice=("auto", "none", "required"), limit="max_tokens", window=256_000, output=32_000, cache={"kind": "none"})
row("openrouter", "openrouter/ anthropic/ google/", gives="details", needs="details", sealed=True, thinks=True, off={"reasoning": {"enabled": False}}, window=1_000_000, usage="openrouter", cache=MARKS("cache_control", 1024, roles=("system", "user", "assistant", "tool")))
row("groq", "openai/gpt-oss llama-3.3", gives="reasoning", forbids=("reasoning_content", "reasoning_details"), error="groq", thinks=True, window=131_072, output=65_536, cache=PREFIX(128, 256, 0.5))
row("cerebras", "zai-glm", gives="reasoning", forbids=("reasoning_content",), thinks=True, off={"disable_reasoning": True}, window=131_072, cache=PREFIX(128, 256, 1.0))
row("together", "zai-org/", gives="reasoning_content", thinks=True, window=262_144, cache=PREFIX(1, 1024, 0.2))
row("bedrock", "openai.gpt-oss us.openai", gives="tags", gives_ids="call_{n}", temperature="thinking", off={"reasoning_effort": "none"}, window=128_000)
row("vllm-qwen", "Qwen/Qwen3", gives="reasoning", thinks=True, off={"chat_template_kwargs": {"enable_thinking": False}}, system="one", user_needed=True, error="vllm", developer=False, window=262_144, cache=PREFIX(16, 16, 0.0))
row("vllm-kimi", "moonshotai/Kimi", like="vllm-qwen", system="any", gives_ids="functions.{name}:{n}", developer=True)
row("sglang", "sglang/", gives="reasoning_content", thinks=True, off={"chat_template_kwargs": {"enable_thinking": False}}, error="vllm", window=131_072, cache=PREFIX(1, 1, 0.0))
row("llamacpp", "devstral-small unsloth/", gives="reasoning_content", alternate=True, system="one", developer=False, error="jinja", status=500, window=32_768, cache=PREFIX(1, 1, 0.0))
row("ollama", "qwen3.5: gemma4: llama3", gives="reasoning", null=False, gives_ids="", thinks=True, off={"reasoning_effort": "none"}, window=32_768, cache=PREFIX(1, 1, 0.0))
row("lmstudio", "lmstudio/", gives="reasoning_content", null=False, formats=("text", "json_schema"), error="lmstudio", gives_ids="{digits}", window=32_768, cache=PREFIX(1, 1, 0.0))
row("plain-gateway", "gateway-", stream="json", gives_ids="call_{n}", cache={"kind": "none"})
row("anthropic", "claude-opus-4 claude-sonnet-4 claude-haiku-4", dialect="messages", gives="thinking", needs="loop", sealed=True, blank=False, ids=r"[A-Za-z0-9_-]+", temperature="thinking", choice_thinking=("auto", "none"), error="anthropic", usage="anthropic",
    window=1_000_000, output=128_000, cache=MARKS("cache_control", 1024, roles=("system", "user", "assistant"), hour=2.0), gives_ids="toolu_{hex}")
row("anthropic-5", "claude-opus-5 claude-sonnet-5 claude-haiku-5 claude-fable-5", like="anthropic", temperature="one", choice_thinking=None, off_refused=(("thinking.type", "enabled"),), cache=MARKS("cache_control", 512, roles=("system", "user", "assistant"), hour=2.0))
row("anthropic-5.5", "claude-opus-5-5 claude-sonnet-5-5 claude-haiku-5-5 claude-fable-5-1", like="anthropic-5", thinks=True, bound=True, choice=("auto", "none"), off_refused=(("thinking.type", "enabled"), ("thinking.type", "disabled")))
row("kimi-coding", "kimi-for-coding k3.1-pro", dialect="messages", also=("chat",), gives="thinking", needs="calls", sealed=False, thinks=True, error="anthropic", usage="anthropic", gives_ids="{name}_{n}", cache=PREFIX(256, 256, 0.1), window=262_144)
row("deepseek-messages", "ds-messages", like="kimi-coding", cache=ROWS["deepseek"]["cache"], gives_ids="call_00_{hex}")
row("openai-responses", "resp-gpt-6", dialect="responses", gives="item", needs="item", sealed=True, thinks=True, off={"reasoning": {"effort": "none"}}, temperature="thinking", window=922_000, output=128_000,
    cache=MARKS("prompt_cache_breakpoint", 1024, implicit=True, back=80, roles=("system", "developer", "user", "tool"), key="prompt_cache_key"))
row("grok-responses", "resp-grok", like="openai-responses", needs=None, off=None, cache=PREFIX(1, 1024, 0.25, key="prompt_cache_key"))

MINTED: dict[str, str] = {}                                   # signature -> vendor
BOUND: dict[str, tuple] = {}                                  # signature -> (what was before it, the signatures before it)
THOUGHT: dict[str, str] = {}                                  # call id or answer text -> the thinking it was given with
LOG: list[dict] = []
CACHE: dict[tuple, dict] = {}
COUNT = itertools.count(1)
def text_of(content) -> str:
    if isinstance(content, str): return content
    return "\n".join(p.get("text") or "" for p in content or [] if isinstance(p, dict)) if isinstance(content, list) else ""
def includes(body: dict, part: dict) -> bool:
    return all(includes(body.get(k) or {}, v) if isinstance(v, dict) and isinstance(body.get(k), dict) else body.get(k) == v for k, v in part.items())
def thinking(r: dict, body: dict) -> bool:
    if r["dialect"] == "messages" or "thinking" == r["gives"]: return r["thinks"] or (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    return r["thinks"] and not (r["off"] and includes(body, r["off"]))
def mint(r: dict) -> str:
    s = "sig-" + uuid.uuid4().hex; MINTED[s] = r["name"]; return s
def standin(value: str) -> bool: return value in (SKIP, base64.b64encode(SKIP.encode()).decode())

# ------------------------------------------------------------------------------------------------ rules of a request, one function a dialect
class Refused(Exception):
    def __init__(self, message: str, param: str | None = None, status: int | None = None, loc=None): super().__init__(message); self.message, self.param, self.status, self.loc = message, param, status, loc

def check_parameters(r: dict, body: dict) -> None:
    on = thinking(r, body)
    if r["params"] and (odd := sorted(set(body) - r["params"])): raise Refused(f"unknown parameter {odd[0]}", odd[0], loc=["body", odd[0]])
    other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(r["limit"])
    if other and body.get(other) is not None: raise Refused(f"Unsupported parameter: '{other}' is not supported with this model. Use '{r['limit']}' instead.", other)
    t = body.get("temperature")
    if t is not None and ((r["temperature"] == "one" and t != 1) or (r["temperature"] == "thinking" and on and t != 1) or (r["temperature"] == "positive" and not 0 < t <= 2)):
        raise Refused("invalid temperature: only 1 is allowed for this model", "temperature")
    for field, value in r["off_refused"]:
        found = body
        for part in field.split("."): found = (found or {}).get(part) if isinstance(found, dict) else None
        if found == value: raise Refused(f"{field} {json.dumps(value)} is not supported for this model", field)
    choice = body.get("tool_choice"); kind = "auto" if choice is None else choice if isinstance(choice, str) else {"auto": "auto", "none": "none", "any": "required", "tool": "named", "function": "named"}.get(choice.get("type"), "named")
    if kind not in r["choice"] or (on and r["choice_thinking"] and kind not in r["choice_thinking"]): raise Refused("Thinking mode does not support this tool_choice" if kind in r["choice"] else f"tool_choice {kind} is not supported", "tool_choice")
    kind = (body.get("response_format") or {}).get("type", "text")
    if kind not in r["formats"]: raise Refused("'response_format.type' must be " + " or ".join(f"'{f}'" for f in r["formats"]) if r["error"] == "lmstudio" else "This response_format type is unavailable now", "response_format")
    if r["unstreamed"] and not body.get("stream") and not includes(body, r["unstreamed"]): raise Refused("parameter.enable_thinking must be set to false for non-streaming calls", "enable_thinking")

def has_thinking(r: dict, m: dict) -> bool:
    """Whether an assistant message of chat form has the thinking that this vendor gave, or what stands in for it."""
    g = r["gives"]
    if g == "think": return "<think>" in text_of(m.get("content"))
    if g == "details":
        d = m.get(r["details"])
        if not isinstance(d, list): return False
        if r["sealed"] and any(x.get("signature") and x["signature"] not in MINTED for x in d if isinstance(x, dict)): raise Refused("Invalid `signature` in `thinking` block")
        return bool(d) or r["blank"]
    v = m.get(g)
    return isinstance(v, str) and (bool(v) or r["blank"])

def check_chat(r: dict, body: dict) -> None:
    check_parameters(r, body)
    ms, on = body.get("messages"), thinking(r, body)
    if not isinstance(ms, list) or not ms: raise Refused("messages: at least one message is required", "messages")
    last, open_, seen, turn = None, [], set(), []
    users = [i for i, m in enumerate(ms) if m.get("role") == "user"]
    if r["user_needed"] and not users: raise Refused("No user query found in messages.", "messages")
    for i, m in enumerate(ms):
        role, content, at = m.get("role"), m.get("content"), f"messages.{i}"
        if role not in ("system", "developer", "user", "assistant", "tool"): raise Refused(f"invalid role {role}", at)
        if role == "developer" and not r["developer"]: raise Refused("Unexpected message role: developer", at, loc=["body", "messages", i, "role"])
        if role in ("system", "developer"):
            if r["system"] == "one" and i: raise Refused("System message must be at the beginning.", at)
            if r["system"] == "after-user" and i and ms[i - 1].get("role") in ("assistant", "tool"): raise Refused(f"Unexpected role 'system' after role '{ms[i - 1]['role']}'", at)
            if r["system"] == "leading" and last not in (None, "system", "developer"): raise Refused("System message must be at the beginning.", at)
        if open_ and role != "tool": raise Refused(f"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message) {open_}", at)
        if role == "tool":
            if m.get("tool_call_id") not in open_: raise Refused("messages with role 'tool' must be a response to a preceding message with 'tool_calls'", at)
            open_.remove(m["tool_call_id"])
        if isinstance(content, list) and role not in r["lists"]: raise Refused("invalid type: sequence, expected a string" if r["error"] != "mimo" else "`text` is not set", at)
        if isinstance(content, list) and any(isinstance(p, dict) and p.get("type") == "text" and p.get("text") == "" for p in content): raise Refused("text content blocks must be non-empty", at)
        if content is None and role != "assistant": raise Refused("invalid message content type: <nil>", at)
        calls = m.get("tool_calls") if role == "assistant" else None
        if role == "assistant":
            if content is None and (not calls or not r["null"]): raise Refused("invalid message content type: <nil>" if r["error"] != "mimo" else "`text` is not set", at)
            if content == "" and (not r["empty"] or not calls and r["alternate"]): raise Refused("assistant message must have content", at)
            if calls == []: raise Refused("empty array. Expected an array with minimum length 1", at + ".tool_calls")
            odd = sorted(set(m) - r["closed"]) if r["closed"] else sorted(set(m) & set(r["forbids"]))
            if odd: raise Refused(f"property '{odd[0]}' is unsupported", f"{at}.{odd[0]}", loc=["body", "messages", i, "assistant", odd[0]])
        for n, c in enumerate(calls or []):
            id_, f = c.get("id"), c.get("function") or {}
            if not isinstance(id_, str) or (not id_ and r["gives_ids"]): raise Refused("Expected 'id' to be a string", f"{at}.tool_calls.{n}.id")
            if r["ids"] and not re.fullmatch(r["ids"], id_): raise Refused(f"Tool call id was {id_} but must be a-z, A-Z, 0-9, with a length of 9.", at, 400)
            if id_ and id_ in open_ or (r["unique"] and id_ in seen): raise Refused(f"duplicate tool call id {id_}", at)
            try: json.loads(f.get("arguments") or "")
            except ValueError: raise Refused("function.arguments must be JSON", at)
            open_.append(id_); seen.add(id_)
            odd = set(c) - {"id", "type", "function", "index"}
            if r["closed"] and odd: raise Refused(f"property '{sorted(odd)[0]}' is unsupported", at, loc=["body", "messages", i, "assistant", "tool_calls", n, sorted(odd)[0]])
            if r["needs"] == "first" and on and n == 0:
                s = c
                for part in r["seal"]: s = s.get(part) if isinstance(s, dict) else None
                if not s: raise Refused(f"Function call is missing a {r['seal'][-1]} in functionCall parts. This is required for tools to work correctly, and missing it may lead to degraded model performance. Additional data, function call `default_api:{f.get('name')}`, position {i}.", at)
                if not standin(s) and (s not in MINTED or MINTED[s] != r["name"]): raise Refused("Corrupted thought signature.", at)
        if role == "user": turn = []
        if role == "assistant" and on and r["needs"] in ("calls", "turns", "details"):
            turn.append(m)
            bad = [x for x in (turn if r["needs"] == "turns" and any(y.get("tool_calls") for y in turn) else [m] if calls else []) if not has_thinking(r, x)]
            if bad: raise Refused({"kimi": f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {i}"}.get(r["error"], f"The `{'reasoning_content' if r['gives'] == 'reasoning_content' else r['gives']}` in the thinking mode must be passed back to the API."), at)
        group = "user" if role == "user" else "assistant" if role == "assistant" else None
        if r["alternate"] and group and group == last and not calls and last_calls == 0: raise Refused("After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.", at)
        if group: last, last_calls = group, len(calls or [])
        elif role in ("system", "developer"): last, last_calls = role, 0
    if open_: raise Refused(f"No tool output found for function call {open_[0]}.", "messages")
    if r["error"] == "mistral" and ms[-1]["role"] not in ("user", "tool") and not ms[-1].get("prefix"): raise Refused("Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant", "messages", 400)
    check_marks(r, body)

def before(body: dict, upto: int) -> tuple[str, list[str]]:
    """What a thinking block in message `upto` is bound to: everything before it without marks and thinking; and the signatures of the thinking before it."""
    def plain(x): return {k: plain(v) for k, v in x.items() if k != "cache_control"} if isinstance(x, dict) else [plain(v) for v in x] if isinstance(x, list) else x
    said: list = []; signatures = []
    for m in body["messages"][:upto]:
        blocks = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
        signatures += [b.get("signature") or b.get("data") for b in blocks if b.get("type") in ("thinking", "redacted_thinking")]
        kept = plain([b for b in blocks if b.get("type") not in ("thinking", "redacted_thinking")])
        if said and said[-1][0] == m["role"]: said[-1][1].extend(kept)
        else: said.append([m["role"], kept])
    system = body.get("system"); system = [{"type": "text", "text": system}] if isinstance(system, str) else system
    return hashlib.sha256(json.dumps([plain(system), plain(body.get("tools")), said], sort_keys=True).encode()).hexdigest(), signatures
def check_messages(r: dict, body: dict) -> None:
    check_parameters(r, body)
    if not isinstance(body.get("max_tokens"), int): raise Refused("max_tokens: Field required")
    t, on = body.get("thinking") or {}, thinking(r, body)
    if t.get("type") == "enabled" and not 1024 <= t.get("budget_tokens", 0) < body["max_tokens"]: raise Refused("thinking.budget_tokens: must be at least 1024 and less than max_tokens")
    ms = body.get("messages") or []
    if not ms or ms[0].get("role") != "user": raise Refused("messages: first message must use the \"user\" role")
    if ms[-1]["role"] == "assistant": raise Refused("This model does not support assistant message prefill. The conversation must end with a user message.")
    starts = [i for i, m in enumerate(ms) if m["role"] == "user" and not (isinstance(m["content"], list) and m["content"] and all(b.get("type") == "tool_result" for b in m["content"]))]
    loop = max([i for i in starts if i < len(ms) - 1 or len(ms) == 1] or [0]) if ms[-1]["role"] == "user" and starts and starts[-1] == len(ms) - 1 and len(ms) > 1 and any(b.get("type") == "tool_result" for b in (ms[-1]["content"] if isinstance(ms[-1]["content"], list) else [])) else (starts or [0])[-1]
    open_: list[str] = []
    for i, m in enumerate(ms):
        blocks = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
        if m["role"] not in ("user", "assistant", "system"): raise Refused(f"messages.{i}.role: Input should be 'user' or 'assistant'")
        if not blocks: raise Refused(f"messages.{i}: all messages must have non-empty content")
        kinds = [b.get("type") for b in blocks]
        if open_:
            got = [b["tool_use_id"] for b in blocks if b.get("type") == "tool_result"]
            if m["role"] != "user" or set(open_) - set(got): raise Refused(f"messages.{i - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(open_)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
            if kinds[0] != "tool_result": raise Refused(f"messages.{i}: `tool_result` blocks must come first in the content")
        answers = [b for b in blocks if b.get("type") == "tool_result"]
        if any(b["tool_use_id"] not in open_ for b in answers): raise Refused(f"messages.{i}.content: unexpected `tool_use_id` found in `tool_result` blocks")
        open_ = []
        for n, b in enumerate(blocks):
            if b.get("type") == "text" and not (b.get("text") or "").strip(): raise Refused(f"messages.{i}: text content blocks must " + ("be non-empty" if not b.get("text") else "contain non-whitespace text"))
            if b.get("type") in ("thinking", "redacted_thinking"):
                if b.get("cache_control"): raise Refused(f"messages.{i}.content.{n}.thinking.cache_control: Extra inputs are not permitted")
                s = b.get("signature") or b.get("data")
                if r["sealed"] and s not in MINTED: raise Refused(f"messages.{i}.content.{n}: Invalid `signature` in `thinking` block")
                if r["bound"] and (t.get("block_binding") or {}).get("prefix_mismatch_behavior") != "drop_block" and s in BOUND:
                    now, earlier = before(body, i); then, given = BOUND[s]
                    if now != then or earlier != given[len(given) - len(earlier):]: raise Refused(f"messages.{i}.content.{n}: Invalid `signature` in `thinking` block. The block is bound to a different conversation.")
            if b.get("type") == "tool_use":
                if r["ids"] and not re.fullmatch(r["ids"], b.get("id") or ""): raise Refused(f"messages.{i}.content.{n}.tool_use.id: String should match pattern '^{r['ids']}$'")
                if b["id"] in open_: raise Refused("messages: `tool_use` ids must be unique")
                open_.append(b["id"])
        if m["role"] == "assistant" and "tool_use" in kinds and on and not {"thinking", "redacted_thinking"} & set(kinds):
            if r["needs"] == "calls": raise Refused(f"thinking is enabled but reasoning_content is missing in assistant tool call message at index {i}")
            if r["needs"] == "loop" and i > loop and t.get("type") == "enabled": raise Refused(f"messages.{i}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.")
        if m["role"] == "assistant" and r["needs"] == "loop" and on and i > loop and (given := THOUGHT.get(next((b["id"] for b in blocks if b.get("type") == "tool_use"), ""))) and {"thinking", "redacted_thinking"} & set(kinds):
            if [b.get("signature") or b.get("data") for b in blocks if b.get("type") in ("thinking", "redacted_thinking")] != given.split(): raise Refused(f"messages.{i}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.")
    check_marks(r, body)

def check_responses(r: dict, body: dict) -> None:
    check_parameters(r, body)
    items = body.get("input"); on = thinking(r, body)
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items or []
    open_, seen = {}, set()
    for i, x in enumerate(items):
        kind = x.get("type", "message")
        if kind == "reasoning":
            if r["sealed"] and x.get("encrypted_content") and x["encrypted_content"] not in MINTED: raise Refused("The encrypted content could not be verified.", f"input[{i}].encrypted_content")
            after = items[i + 1].get("type", "message") if i + 1 < len(items) else None
            if r["needs"] and (after not in ("function_call", "message", "reasoning", "custom_tool_call") or (after == "message" and items[i + 1].get("role") != "assistant")): raise Refused(f"Item '{x.get('id')}' of type 'reasoning' was provided without its required following item.", "input")
        if kind == "message":
            if open_: raise Refused(f"No tool output found for function call {next(iter(open_))}.", "input")
            want = "output_text" if x.get("role") == "assistant" else "input_text"
            for p in x["content"] if isinstance(x.get("content"), list) else []:
                if p.get("type") in ("output_text", "input_text", "text") and p["type"] != want: raise Refused(f"Invalid value: '{p['type']}'. Supported values are: '{want}'.", f"input[{i}].content")
        if kind == "function_call":
            if r["needs"] and on and x.get("id") and (need := THOUGHT.get(x["call_id"])) and not any(y.get("type") == "reasoning" and y.get("encrypted_content") == need for y in items[:i]): raise Refused(f"Item '{x['id']}' of type 'function_call' was provided without its required 'reasoning' item.", "input")
            open_[x["call_id"]] = 1; seen.add(x["call_id"])
        if kind == "function_call_output":
            if x["call_id"] not in seen: raise Refused(f"No tool call found for function call output with call_id {x['call_id']}.", "input")
            open_.pop(x["call_id"], None)
    if open_: raise Refused(f"No tool output found for function call {next(iter(open_))}.", "input")
    check_marks(r, body)
CHECKS = {"chat": check_chat, "messages": check_messages, "responses": check_responses}

# ------------------------------------------------------------------------------------------------ prompt caches
def blocks_of(body: dict) -> list[dict]:
    """The prompt in the order in which caches read it: {text, role, mark}; marks are no part of the text."""
    out: list[dict] = []
    def add(value, role):
        mark = None
        if isinstance(value, dict):
            mark = value.get("cache_control") or value.get("prompt_cache_breakpoint")
            value = {k: v for k, v in value.items() if k not in ("cache_control", "prompt_cache_breakpoint")}
            if list(value) == ["type", "text"] or set(value) == {"type", "text"}: value = value["text"]
        out.append({"text": role + "\x01" + json.dumps(value, ensure_ascii=False, sort_keys=True), "role": role, "mark": mark})
    for t in body.get("tools") or []: add(t, "tools")
    for s in [body["system"]] if isinstance(body.get("system"), str) else body.get("system") or []: add(s, "system")
    if body.get("instructions"): add(body["instructions"], "system")
    said = body.get("messages") or body.get("input") or []
    for m in [{"role": "user", "content": said}] if isinstance(said, str) else said:
        role = m.get("role") or {"function_call_output": "tool"}.get(m.get("type"), "assistant")
        if m.get("role") == "user" and isinstance(m.get("content"), list) and any(isinstance(p, dict) and p.get("type") == "tool_result" for p in m["content"]): role = "user"
        content = m.get("content")
        for p in content if isinstance(content, list) else [content] if content is not None else []: add(p, role)
        if rest := {k: v for k, v in m.items() if k not in ("role", "content", "cache_control")}: add(rest, role)
        if m.get("cache_control"): out[-1]["mark"] = m["cache_control"]
        out[-1]["ends"] = role                                # a message ends here
    return out
def check_marks(r: dict, body: dict) -> None:
    c = r["cache"]
    if c["kind"] != "marks": return
    bs = blocks_of(body); marks = [b for b in bs if b["mark"]]
    if c["field"] == "cache_control" and len(marks) > c["most"]: raise Refused(f"A maximum of {c['most']} blocks with cache_control may be provided. Found {len(marks)}.")
    if any(b["role"] not in (*c["roles"], "tools") for b in marks): raise Refused(f"{c['field']} is not supported on this content block")
    ttls = [(b["mark"] or {}).get("ttl", "5m") for b in marks if isinstance(b["mark"], dict)]
    if c.get("hour") and "5m" in ttls and "1h" in ttls[ttls.index("5m"):]: raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")
size = lambda text: max(1, len(text.encode()) // 4)
def account(r: dict, body: dict) -> tuple[int, int, int]:
    """(prompt tokens, read, written) by this vendor's rule; remembers what it wrote."""
    c, bs = r["cache"], blocks_of(body)
    key = (r["name"], body.get("model"))
    s = CACHE.setdefault(key, {"requests": 0, "tokens": 0, "read": 0, "written": 0, "price": 0.0, "entries": set(), "texts": [], "rows": []})
    sizes = [size(b["text"]) for b in bs]; total = sum(sizes)
    chain, h = [], hashlib.sha256()
    for b in bs: h.update(b["text"].encode() + b"\x00"); chain.append(h.hexdigest())
    upto = list(itertools.accumulate(sizes)); read = written = 0; factor = c.get("write", 1.0)
    if c["kind"] == "marks" and not any(b["mark"] for b in bs) and c.get("otherwise"): c = c["otherwise"]
    if c["kind"] in ("prefix", "units"):
        text = "\x00".join(b["text"] for b in bs)
        if c["kind"] == "prefix":
            best = max((len(os.path.commonprefix([text, old]).encode()) // 4 for old in s["texts"]), default=0)
            read = best // c["block"] * c["block"]; read = min(read, total) if read >= c["least"] else 0
        else:                                                 # complete units: ends of inputs and outputs, common prefixes seen twice, one every `every` tokens
            n = len(text.encode()) // 4
            units = {u for u in s["entries"] if text.startswith(u)}
            read = max((size(u) for u in units), default=0); read = read if read >= c["least"] else 0
            for old in s["texts"][-20:]:
                common = os.path.commonprefix([text, old])
                if len(common) > 256: s["entries"].add(common)
            s["entries"].add(text); s["entries"].update(text[:k * c["every"] * 4] for k in range(1, n // c["every"] + 1))
        s["texts"] = [*s["texts"][-60:], text]
        written = max(0, total - read) if factor != 1.0 else 0
    elif c["kind"] == "marks":
        at = [i for i, b in enumerate(bs) if b["mark"]]
        implicit = c.get("implicit") and (body.get("prompt_cache_options") or {}).get("mode") != "explicit"
        newest = max([i for i, b in enumerate(bs) if b.get("ends") in ("user", "tool")] or [len(bs) - 1])
        points = sorted(set(at) | ({newest} if implicit else set()))
        if c["field"] == "cache_control" and body.get("cache_control"): points = sorted({*points, len(bs) - 1})
        if c.get("implicit"): found = [i for i in range(len(bs)) if chain[i] in s["entries"]]   # any breakpoint written earlier, the latest 80
        else: found = [i for p in points for i in range(max(0, p - c["back"] + 1), p + 1) if chain[i] in s["entries"]]
        hit = max(found, default=-1); read = upto[hit] if hit >= 0 and upto[hit] >= c["least"] else 0
        writes = [p for p in points if upto[p] >= c["least"]][-c["most"]:]
        written = max(0, upto[writes[-1]] - read) if writes else 0
        for p in writes: s["entries"].add(chain[p])
        if any((bs[p]["mark"] or {}).get("ttl") == "1h" for p in writes if isinstance(bs[p]["mark"], dict)): factor = c.get("hour", factor)
    price = read * c.get("read", 1.0) + written * factor + (total - read - written)
    s["requests"] += 1; s["tokens"] += total; s["read"] += read; s["written"] += written; s["price"] += price
    s["rows"] = [*s["rows"][-199:], {"tokens": total, "read": read, "written": written, "marks": sum(bool(b["mark"]) for b in bs), "key": body.get(c.get("key") or "", body.get("prompt_cache_key"))}]
    return total, read, written
def cache_report() -> dict:
    return {f"{v}/{m}": {"requests": s["requests"], "tokens": s["tokens"], "read": s["read"], "written": s["written"], "read_share": round(s["read"] / max(1, s["tokens"]), 3), "price_factor": round(s["price"] / max(1, s["tokens"]), 3), "rows": s["rows"][-30:]} for (v, m), s in CACHE.items()}
def usage_of(r: dict, total: int, read: int, written: int, out: int, thought: int) -> dict:
    if r["dialect"] == "messages" or r["usage"] == "anthropic": return {"input_tokens": total - read - written, "cache_read_input_tokens": read, "cache_creation_input_tokens": written, "output_tokens": out}
    u = {"prompt_tokens": total, "completion_tokens": out, "total_tokens": total + out}
    if thought: u["completion_tokens_details"] = {"reasoning_tokens": thought}
    if r["usage"] == "deepseek": return {**u, "prompt_cache_hit_tokens": read, "prompt_cache_miss_tokens": total - read}
    if r["usage"] == "kimi": return {**u, "cached_tokens": read}
    if r["usage"] == "qwen": return {**u, "prompt_tokens_details": {"cached_tokens": read, "cache_creation_input_tokens": written}}
    return {**u, "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written}}

# ------------------------------------------------------------------------------------------------ the scripted model
IGNORE = "quire-recalled"
def script(turns: list[tuple[str, str, list[str]]], offered: set[str]) -> tuple[str, list[tuple[str, dict]]]:
    """turns: (role, text, names called). Returns the answer's text and its calls."""
    turns = [(role, re.sub(rf"<{IGNORE}>.*?</{IGNORE}>", "", text, flags=re.S), names) for role, text, names in turns]
    at = max([i for i, (role, text, _) in enumerate(turns) if role == "user" and "[[" in text] or [-1])
    n = next(COUNT)
    if at < 0: return f"Answer {n}.", []
    later = turns[at + 1:]
    if any(role == "assistant" and not names for role, _, names in later) : return f"Answer {n}.", []
    done = [name for role, _, names in later for name in names]
    command = re.findall(r"\[\[(.*?)\]\]", turns[at][1], re.S)[-1]; word, _, rest = command.partition(" ")
    def one(s):
        name, _, args = s.strip().partition(" ")
        try: return name, json.loads(args) if args.strip().startswith("{") else {"city": "Hangzhou"}
        except ValueError: return name, {}
    if word == "say": return rest, []
    if word == "none": return "", []
    if word in ("call", "calls"):
        wanted = [one(s) for s in rest.split("|")]
        if not done and all(name in offered for name, _ in wanted): return "", wanted
    if word == "chain":
        name, _, k = rest.strip().partition(" ")
        if len(done) < int(k or 2) and name in offered: return "", [(name, {"city": f"town {len(done)}"})]
    return f"Answer {n}.", []
def new_id(r: dict, n: int, name: str) -> str:
    h = uuid.uuid4().hex
    return r["gives_ids"].format(hex=h[:16], n=n, name=name, nine=h[:9], digits=str(int(h[:8], 16))[:9].rjust(9, "1"))

def answer_chat(r: dict, body: dict) -> dict:
    ms = body["messages"]; tools = {(t.get("function") or {}).get("name") for t in body.get("tools") or []}
    text, wanted = script([(m["role"], text_of(m.get("content")), [c["function"]["name"] for c in m.get("tool_calls") or []]) for m in ms], tools)
    on, n = thinking(r, body) or r["gives"] in ("tags",), next(COUNT); thought = f"I think {n}: " + uuid.uuid4().hex
    m: dict = {"role": "assistant", "content": text or None}
    if wanted:
        m["tool_calls"] = [{"index": i, "id": new_id(r, i, name), "type": "function", "function": {"name": name, "arguments": json.dumps(args)}} for i, (name, args) in enumerate(wanted if r["parallel"] else wanted[:1])]
        m["content"] = "" if not r["null"] else None
    g = r["gives"] if on else None
    if g in ("reasoning_content", "reasoning") or (g and g not in ("details", "think", "tags", "chunks", "signature", "thinking", "item")): m[g] = thought
    if g == "details": m["reasoning"] = thought; m[r["details"]] = [{"type": "reasoning.text", "text": thought, "format": "anthropic-claude-v1" if r["sealed"] else "MiniMax-response-v1", "index": 0, **({"signature": mint(r)} if r["sealed"] else {"id": "reasoning-text-1"})}]
    if g == "think": m["content"] = f"<think>\n{thought}\n</think>\n\n{text}"
    if g == "tags": m["content"] = f"<reasoning>{thought}</reasoning>{text}"
    if g == "chunks": m["content"] = [{"type": "thinking", "thinking": [{"type": "text", "text": thought}]}, *([{"type": "text", "text": text}] if text else [])]
    if g == "signature" and wanted:
        sealed: dict | str = mint(r)
        for part in reversed(r["seal"][1:]): sealed = {part: sealed}
        m["tool_calls"][0][r["seal"][0]] = sealed
    for c in m.get("tool_calls") or []: THOUGHT[c["id"]] = thought
    finish = r["finish"] if wanted else "stop"
    return {"message": m, "finish": finish, "thought": size(thought) if on else 0, "out": size(text) + 8}

def sse_chat(r: dict, body: dict, a: dict, usage: dict):
    head = {"id": "chatcmpl-" + uuid.uuid4().hex[:12], "object": "chat.completion.chunk", "created": int(time.time()), "model": body.get("model")}
    def c(delta=None, fin=None, **k): return "data: " + json.dumps({**head, "choices": [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": fin}], **k}, ensure_ascii=False) + "\n\n"
    m = a["message"]; yield c({"role": "assistant", "content": ""})
    for f, v in m.items():
        if f in ("role", "content", "tool_calls"): continue
        for p in ([v[:7], v[7:]] if isinstance(v, str) else [v]): yield c({f: p})
    if isinstance(m["content"], list):
        for p in m["content"]: yield c({"content": [p] if p["type"] == "thinking" else p["text"]})
    elif m["content"]:
        for p in re.findall(r".{1,12}", m["content"], re.S): yield c({"content": p})
    for call in m.get("tool_calls") or []:
        if r["stream"] == "indexless": yield c({"tool_calls": [{k: v for k, v in call.items() if k != "index"}]}); continue
        f = call["function"]; yield c({"tool_calls": [{**call, "function": {"name": f["name"], "arguments": ""}}]})
        for p in re.findall(r".{1,9}", f["arguments"], re.S): yield c({"tool_calls": [{"index": call["index"], "function": {"arguments": p}}]})
    if r["usage"] in ("deepseek", "kimi"): yield c({"content": ""}, a["finish"], usage=usage)
    else:
        yield c({}, a["finish"])
        if (body.get("stream_options") or {}).get("include_usage"): yield c(None, usage=usage)
    yield "data: [DONE]\n\n"

def answer_messages(r: dict, body: dict) -> dict:
    turns = []
    for m in body["messages"]:
        bs = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
        if m["role"] == "user" and all(b.get("type") == "tool_result" for b in bs): turns.append(("tool", "", [])); continue
        turns.append((m["role"], text_of(bs), [b["name"] for b in bs if b.get("type") == "tool_use"]))
    text, wanted = script(turns, {t.get("name") for t in body.get("tools") or []})
    on = thinking(r, body); content: list[dict] = []
    if on: content.append({"type": "thinking", "thinking": f"I think {next(COUNT)}: {uuid.uuid4().hex}", "signature": mint(r)})
    if text: content.append({"type": "text", "text": text})
    for i, (name, args) in enumerate(wanted): content.append({"type": "tool_use", "id": new_id(r, i, name), "name": name, "input": args})
    for b in content:
        if b["type"] == "thinking" and r["bound"]: BOUND[b["signature"]] = before(body, len(body["messages"]))
        if b["type"] == "tool_use" and on: THOUGHT[b["id"]] = " ".join(x["signature"] for x in content if x["type"] == "thinking")
    return {"content": content, "stop": "tool_use" if wanted else "end_turn", "out": size(text) + 8}
def sse_messages(r: dict, body: dict, a: dict, usage: dict):
    def e(d): return f"event: {d['type']}\ndata: {json.dumps(d, ensure_ascii=False)}\n\n"
    yield e({"type": "message_start", "message": {"id": "msg_" + uuid.uuid4().hex[:12], "type": "message", "role": "assistant", "model": body["model"], "content": [], "stop_reason": None, "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}})
    for i, b in enumerate(a["content"]):
        empty = {"thinking": {"type": "thinking", "thinking": "", "signature": ""}, "text": {"type": "text", "text": ""}}.get(b["type"]) or {**b, "input": {}}
        yield e({"type": "content_block_start", "index": i, "content_block": empty})
        parts = [{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}] if b["type"] == "thinking" else [{"type": "text_delta", "text": p} for p in re.findall(r".{1,12}", b["text"], re.S)] if b["type"] == "text" else [{"type": "input_json_delta", "partial_json": p} for p in re.findall(r".{1,9}", json.dumps(b["input"]), re.S)]
        for p in parts: yield e({"type": "content_block_delta", "index": i, "delta": p})
        yield e({"type": "content_block_stop", "index": i})
    yield e({"type": "message_delta", "delta": {"stop_reason": a["stop"], "stop_sequence": None}, "usage": {"output_tokens": usage["output_tokens"]}}); yield e({"type": "message_stop"})

def answer_responses(r: dict, body: dict) -> dict:
    items = body["input"] if isinstance(body.get("input"), list) else [{"role": "user", "content": body.get("input")}]
    turns = [(x.get("role", "user"), text_of(x.get("content")), []) if x.get("type", "message") == "message" else ("assistant", "", [x["name"]]) if x["type"] == "function_call" else ("tool", "", []) for x in items if x.get("type") != "reasoning"]
    text, wanted = script(turns, {t.get("name") for t in body.get("tools") or []})
    out: list[dict] = []; sealed = mint(r)
    if thinking(r, body): out.append({"type": "reasoning", "id": "rs_" + uuid.uuid4().hex, "summary": [], **({"encrypted_content": sealed} if "reasoning.encrypted_content" in (body.get("include") or []) or r["needs"] is None else {})})
    if wanted: out += [{"type": "function_call", "id": "fc_" + uuid.uuid4().hex, "call_id": new_id(r, i, name), "name": name, "arguments": json.dumps(args), "status": "completed"} for i, (name, args) in enumerate(wanted)]
    else: out.append({"type": "message", "id": "msg_" + uuid.uuid4().hex, "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]})
    for x in out:
        if x["type"] == "function_call" and any("encrypted_content" in y for y in out): THOUGHT[x["call_id"]] = sealed
    return {"output": out, "out": size(text) + 8}
def response_of(body: dict, a: dict, usage: dict, status="completed") -> dict:
    d = usage.get("prompt_tokens_details") or {}
    return {"id": "resp_" + uuid.uuid4().hex, "object": "response", "created_at": int(time.time()), "status": status, "model": body["model"], "output": a["output"] if status == "completed" else [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools") or [], "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"], "total_tokens": usage["total_tokens"], "input_tokens_details": {"cached_tokens": d.get("cached_tokens", 0), "cache_write_tokens": d.get("cache_write_tokens", 0)}, "output_tokens_details": {"reasoning_tokens": 5}} if status == "completed" else None}
def sse_responses(r: dict, body: dict, a: dict, usage: dict):
    n = itertools.count(); full = response_of(body, a, usage)
    def e(kind, **d): return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': next(n), **d}, ensure_ascii=False)}\n\n"
    begun = {**full, "status": "in_progress", "output": [], "usage": None}
    yield e("response.created", response=begun); yield e("response.in_progress", response=begun)
    for i, x in enumerate(a["output"]):
        yield e("response.output_item.added", output_index=i, item={**x, **({"status": "in_progress"} if "status" in x else {}), **({"arguments": ""} if "arguments" in x else {}), **({"content": []} if x["type"] == "message" else {})})
        if x["type"] == "function_call":
            for p in re.findall(r".{1,9}", x["arguments"], re.S): yield e("response.function_call_arguments.delta", item_id=x["id"], output_index=i, delta=p)
            yield e("response.function_call_arguments.done", item_id=x["id"], output_index=i, arguments=x["arguments"], name=x["name"])
        if x["type"] == "message":
            t = x["content"][0]["text"]; w = {"item_id": x["id"], "output_index": i, "content_index": 0}
            yield e("response.content_part.added", **w, part={"type": "output_text", "text": "", "annotations": []})
            for p in re.findall(r".{1,12}", t, re.S): yield e("response.output_text.delta", **w, delta=p, logprobs=[])
            yield e("response.output_text.done", **w, text=t, logprobs=[]); yield e("response.content_part.done", **w, part=x["content"][0])
        yield e("response.output_item.done", output_index=i, item=x)
    yield e("response.completed", response=full)

# ------------------------------------------------------------------------------------------------ the server
def refusal(r: dict, x: Refused) -> tuple[int, object]:
    m, p, kind = x.message, x.param, r["error"]; status = x.status or r["status"]
    if kind == "gemini": return 400, [{"error": {"code": 400, "message": m, "status": "INVALID_ARGUMENT"}}]
    if kind == "mimo": return 400, {"error": {"code": "400", "message": "Param Incorrect", "param": m, "type": ""}}
    if kind == "glm": return 400, {"error": {"code": "1214" if p and "messages" in p else "1210", "message": "The messages parameter is illegal. Please check the documentation." if p and "messages" in p else m}}
    if kind == "mistral": return (422, {"detail": [{"type": "extra_forbidden", "loc": x.loc, "msg": "Extra inputs are not permitted"}]}) if x.loc else (400, {"object": "error", "message": m, "type": "invalid_request_message_order" if "role" in m else "invalid_request_error", "param": None, "code": "3230"})
    if kind == "groq": return 400, {"error": {"message": f"'{(p or '').rpartition('.')[0]}' : for 'role:assistant' the following must be satisfied[('{(p or '').rpartition('.')[0]}' : {m})]", "type": "invalid_request_error"}}
    if kind == "vllm": return 400, {"error": {"message": m, "type": "BadRequestError", "param": None, "code": 400}}
    if kind == "jinja": return 500, {"error": {"code": 500, "message": "\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...\nError: Jinja Exception: " + m, "type": "server_error"}}
    if kind == "lmstudio": return 400, {"error": m}
    if kind == "ark": return 400, {"error": {"code": "InvalidParameter", "message": m + " Request id: 0217", "param": p or "", "type": "BadRequest"}}
    if kind == "anthropic": return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": m}, "request_id": "req_1"}
    return status, {"error": {"message": m, "type": "invalid_request_error", "param": p, "code": "invalid_request_error"}}
def vendor_of(path: str | None, model: str, fixed: str | None) -> dict:
    if path: return ROWS[path]
    if fixed: return ROWS[fixed]
    best = max(((len(p), n) for n, r in ROWS.items() for p in r["models"] if model.startswith(p)), default=(0, "openai"))
    return ROWS[best[1]]
def handle(dialect: str, r: dict, body: dict) -> tuple[int, object, object]:
    """(status, JSON, stream or None)"""
    entry = {"n": len(LOG), "vendor": r["name"], "dialect": dialect, "model": body.get("model"), "body": body, "status": 200}
    LOG.append(entry)
    if dialect != r["dialect"] and dialect not in r["also"]: entry["status"] = 404; return 404, {"error": {"message": f"{r['name']} does not speak {dialect}", "type": "not_found_error"}}, None
    try: CHECKS[dialect](r, body)
    except Refused as x: entry["status"], answer = refusal(r, x); entry["refused"] = x.message; return entry["status"], answer, None
    a = {"chat": answer_chat, "messages": answer_messages, "responses": answer_responses}[dialect](r, body)
    usage = usage_of(r if dialect != "responses" else {**r, "usage": "openai"}, *account(r, body), a["out"], a.get("thought", 0))
    entry["answer"] = a.get("message") or a.get("content") or a.get("output"); entry["usage"] = usage
    if body.get("stream") and r["stream"] != "json": return 200, None, {"chat": sse_chat, "messages": sse_messages, "responses": sse_responses}[dialect](r, body, a, usage)
    if dialect == "chat": return 200, {"id": "chatcmpl-" + uuid.uuid4().hex[:12], "object": "chat.completion", "created": int(time.time()), "model": body.get("model"), "choices": [{"index": 0, "message": a["message"], "finish_reason": a["finish"]}], "usage": usage}, None
    if dialect == "messages": return 200, {"id": "msg_" + uuid.uuid4().hex[:12], "type": "message", "role": "assistant", "model": body["model"], "content": a["content"], "stop_reason": a["stop"], "stop_sequence": None, "usage": usage}, None
    return 200, response_of(body, a, usage), None
async def flow(parts):
    """Without a thread for each part."""
    for part in parts: yield part
def app(fixed: str | None = None):
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Route
    def ask(dialect):
        async def run(q):
            body = await q.json(); r = vendor_of(q.path_params.get("vendor"), str(body.get("model", "")), fixed)
            status, out, stream = handle(dialect, r, body)
            return StreamingResponse(flow(stream), media_type="text/event-stream") if stream else JSONResponse(out, status)
        return run
    async def models(q): return JSONResponse({"object": "list", "data": [{"id": m, "object": "model", "created": 1, "owned_by": n, "context_length": r["window"], "max_model_len": r["window"]} for n, r in ROWS.items() for m in r["models"]]})
    async def log(q): return JSONResponse([e for e in LOG[int(q.query_params.get("since", 0)):] if q.query_params.get("model") in (None, e["model"])])
    async def cache(q): return JSONResponse(cache_report())
    async def reset(q): LOG.clear(); CACHE.clear(); return JSONResponse({})
    async def rows(q):
        if q.method == "GET": return JSONResponse(json.loads(json.dumps(ROWS, default=sorted)))
        for name, new in (await q.json()).items():
            new = {k: set(v) if k in ("closed", "params") and v else tuple(v) if isinstance(v, list) else v for k, v in new.items() if k != "name"}
            row(name, " ".join(new.pop("models", ())), **new)
        return JSONResponse(sorted(ROWS))
    routes = [Route(f"{p}/{d}", ask(n), methods=["POST"]) for p in ("/v1", "/{vendor}/v1") for d, n in (("chat/completions", "chat"), ("messages", "messages"), ("responses", "responses"))]
    routes += [Route("/v1/models", models), Route("/{vendor}/v1/models", models), Route("/__log", log), Route("/__cache", cache), Route("/__reset", reset, methods=["POST"]), Route("/__rows", rows, methods=["GET", "POST"])]
    return Starlette(routes=routes)
