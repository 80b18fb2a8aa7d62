// The Agents SDK's items as messages in OpenAI form, which Quire stores, and back.
import { isDeepStrictEqual } from "node:util";

import type { AgentInputItem } from "@openai/agents";

/** An item, a part of one, or a message, as an object of any fields. */
export type Wire = Record<string, any>;

/** The member of a message that holds its items, where they say more than the message. */
const ITEMS = "agents_items";
/** The content of a message that was erased, and the name of the tool that it calls. */
const MARKS = ["[erased]", "[已删除]"];
const MARK = "erased";

/** Return messages. What the assistant says once, thinks and calls up to its results is one. */
export function messagesOf(items: readonly AgentInputItem[]): Wire[] {
  const found: Wire[] = [];
  let said: Wire[] = [];
  const end = () => {
    if (said.length) found.push(withItems(answer(said), said));
    said = [];
  };
  for (const item of items as readonly Wire[]) {
    const isResult = /_(result|output)$/.test(item["type"] ?? "") && item["callId"] !== undefined;
    const isAnswers = !isResult && (item["role"] ?? "assistant") === "assistant";
    const beginsAnother = item["role"] && said.some((one) => one["role"]) && !said.some((one) => one["callId"]);
    if (!isAnswers || beginsAnother) end();
    if (isAnswers) said.push(item);
    else if (isResult) {
      const { callId, name, output } = item;
      const message = { role: "tool", tool_call_id: callId, ...(name && { name }), content: textOf(output) };
      found.push(withItems(message, [item]));
    } else {
      const content = typeof item["content"] === "string" ? item["content"] : item["content"].map(partOf);
      found.push(withItems({ role: item["role"], content }, [item]));
    }
  }
  end();
  return found;
}

/** Return the items of a message; of one that another client sent, its text and calls. */
export function itemsOf(message: Wire): AgentInputItem[] {
  return stored(message) as AgentInputItem[];
}

function stored(message: Wire): Wire[] {
  if (message[ITEMS]) return message[ITEMS];
  const { role, tool_call_id: callId, name, tool_calls } = message;
  const text = textOf(message["content"]);
  if (MARKS.includes(text)) return [];
  const status = "completed";
  if (role === "tool") {
    const output = { type: "text", text };
    return [{ type: "function_call_result", callId, name: name ?? callId, status, output }];
  }
  const type = "message";
  const content = [{ type: "output_text", text }];
  const said = role === "assistant" ? { type, role, status, content } : { type, role, content: text };
  const calls = (tool_calls ?? [])
    .filter((call: Wire) => call["function"].name !== MARK)
    .map(({ id, function: called }: Wire) => ({ type: "function_call", callId: id, ...called, status }));
  return [...(text ? [said] : []), ...calls];
}

function withItems(message: Wire, items: readonly Wire[]): Wire {
  return isDeepStrictEqual(stored(message), items) ? message : { ...message, [ITEMS]: items };
}

function answer(items: readonly Wire[]): Wire {
  const text = items.map((item) => (item["role"] ? textOf(item["content"]) : "")).filter(Boolean).join("\n");
  const calls = items.filter((item) => item["callId"] !== undefined).map(callOf);
  if (!calls.length) return { role: "assistant", content: text };
  return { role: "assistant", content: text || null, tool_calls: calls };
}

/** A call of a function, or of a tool of another kind by the name of that. */
function callOf(item: Wire): Wire {
  const { id: _, type, callId, name, status: __, arguments: given, ...rest } = item;
  const called = { name: name ?? type.replace(/_call$/, ""), arguments: given ?? JSON.stringify(rest) };
  return { id: callId, type: "function", function: called };
}

/** A part of a content in OpenAI form. Files are named. */
function partOf(part: Wire): Wire {
  if (part["type"] === "input_image" && typeof part["image"] === "string") {
    return { type: "image_url", image_url: { url: part["image"] } };
  }
  return { type: "text", text: textOf([part]) || `[${part["filename"] ?? "file"}]` };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (content === null || content === undefined) return "";
  if (!Array.isArray(content)) return textOf([content]);
  return content
    .flatMap((part: Wire) => [part["text"], part["refusal"], part["stdout"]])
    .filter((text) => typeof text === "string" && text)
    .join("\n");
}
