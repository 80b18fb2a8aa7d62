// The AI SDK's prompts as messages in OpenAI form, and Quire's window as a prompt.
import type {
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";

import type { Message } from "./client.js";

interface ToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A message of the prompt, a tool message with one result only, and what it is in OpenAI form. */
export interface Said {
  own: LanguageModelV4Message;
  message: Message;
}

// --- To Quire ---

/** Return the prompt's leading system messages as one text, and the messages after them. */
export function divided(prompt: LanguageModelV4Prompt): { system: string | null; rest: LanguageModelV4Prompt } {
  const first = prompt.findIndex((message) => message.role !== "system");
  const leading = first < 0 ? prompt : prompt.slice(0, first);
  const texts = leading.map((message) => (message.role === "system" ? message.content : ""));
  return { system: texts.join("\n\n") || null, rest: prompt.slice(leading.length) };
}

/** Return the messages in OpenAI form. Files are named, not stored; reasoning stays with the prompt. */
export function saidIn(prompt: LanguageModelV4Prompt): Said[] {
  return prompt.flatMap((own): Said[] => {
    if (own.role !== "tool") {
      const message = asMessage(own);
      return message ? [{ own, message }] : [];
    }
    return own.content.flatMap((part) => {
      if (part.type !== "tool-result") return [];
      const message: Message = { role: "tool", tool_call_id: part.toolCallId, content: resultText(part) };
      return [{ own: { ...own, content: [part] }, message }];
    });
  });
}

/** Return a model's answer in OpenAI form; undefined if it says and calls nothing. */
export function answered(content: readonly LanguageModelV4Content[]): Message | undefined {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = content.flatMap((part) =>
    part.type === "tool-call" && !part.providerExecuted ? [call(part.toolCallId, part.toolName, part.input)] : [],
  );
  return assistant(text, calls);
}

/** Return the messages from the newest user message on. */
export function newestTurn(said: readonly Said[]): Said[] {
  return said.slice(Math.max(said.findLastIndex(({ message }) => message.role === "user"), 0));
}

function asMessage(own: Exclude<LanguageModelV4Message, { role: "tool" }>): Message | undefined {
  if (own.role === "system") return { role: "system", content: own.content };
  if (own.role === "user") {
    const texts = own.content.map((part) => (part.type === "text" ? part.text : fileName(part)));
    return { role: "user", content: texts.join("\n") };
  }
  const text = own.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = own.content.flatMap((part) =>
    part.type === "tool-call" && !part.providerExecuted ? [call(part.toolCallId, part.toolName, part.input)] : [],
  );
  return assistant(text, calls);
}

function assistant(text: string, calls: ToolCall[]): Message | undefined {
  if (!text && !calls.length) return undefined;
  const said: Message = { role: "assistant", content: text || null };
  return calls.length ? { ...said, tool_calls: calls.map((one) => ({ ...one })) } : said;
}

/** A model writes a call's input as text, a prompt has it parsed: both become the same text. */
function call(id: string, name: string, input: unknown): ToolCall {
  const value = typeof input === "string" ? parsed(input) : input;
  return { id, type: "function", function: { name, arguments: typeof value === "string" ? value : dumps(value) } };
}

function resultText({ output }: LanguageModelV4ToolResultPart): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return dumps(output.value);
    case "execution-denied":
      return output.reason ?? "The user denied this call.";
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : fileName(part))).join("\n");
  }
}

function fileName(part: { type: string; filename?: string; mediaType?: string }): string {
  return `[${part.filename ?? part.mediaType ?? part.type}]`;
}

// --- From Quire ---

/**
 * Return the window as a prompt. Messages of the current turn that are in it as they were said are the prompt's own, so
 * that signatures, reasoning and files which the model's API wants to see again are kept.
 */
export function asPrompt(window: readonly Message[], turn: readonly Said[]): LanguageModelV4Prompt {
  const own = new Map<string, LanguageModelV4Message[]>();
  for (const said of turn) own.set(keyOf(said.message), [...(own.get(keyOf(said.message)) ?? []), said.own]);
  const tools = new Map(window.flatMap(callsOf).map((one) => [one.id, one.function.name]));
  const found = window.toReversed().map((message) => own.get(keyOf(message))?.pop() ?? asOwn(message, tools));
  return grouped(found.reverse());
}

function asOwn(message: Message, tools: ReadonlyMap<string, string>): LanguageModelV4Message {
  const text = textOf(message);
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text }] };
    case "assistant": {
      const calls = callsOf(message).map(({ id, function: { name, arguments: input } }) => {
        return { type: "tool-call" as const, toolCallId: id, toolName: name, input: parsed(input) };
      });
      return { role: "assistant", content: [...(text ? [{ type: "text" as const, text }] : []), ...calls] };
    }
    case "tool": {
      const id = message.tool_call_id ?? "";
      const output = { type: "text" as const, value: text };
      return {
        role: "tool",
        content: [{ type: "tool-result", toolCallId: id, toolName: tools.get(id) ?? id, output }],
      };
    }
    default:
      return { role: "system", content: text };
  }
}

/** Join tool messages that follow one another: the results of parallel calls are one message. */
function grouped(messages: readonly LanguageModelV4Message[]): LanguageModelV4Prompt {
  const found: LanguageModelV4Prompt = [];
  for (const message of messages) {
    const last = found.at(-1);
    if (message.role === "tool" && last?.role === "tool") {
      found[found.length - 1] = { ...last, content: [...last.content, ...message.content] };
    } else {
      found.push(message);
    }
  }
  return found;
}

function keyOf(message: Message): string {
  const calls = callsOf(message).map((one) => [one.id, one.function.name, one.function.arguments]);
  return dumps([message.role, textOf(message), message.tool_call_id ?? null, calls]);
}

/** Return a message's text. Parts of other kinds are named. */
function textOf({ content }: Message): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => String(part["text"] ?? `[${String(part["type"])}]`)).join("\n");
}

function callsOf(message: Message): ToolCall[] {
  return (message.tool_calls ?? []) as unknown as ToolCall[];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function dumps(value: unknown): string {
  return JSON.stringify(value) ?? "";
}
