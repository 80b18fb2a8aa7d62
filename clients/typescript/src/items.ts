// The Agents SDK's items as items of the Responses API, which Quire stores, and back.
import type { AgentInputItem } from "@openai/agents";

/** An item, or a part of one, as it goes over the wire. */
export type Wire = Record<string, any>;

/** Kinds whose items differ in the case of their fields' names alone. */
const OWN_KINDS = /^(computer_call|compaction|(shell|apply_patch)_call(_output)?)$/;

// --- To Quire ---

export function toWire(item: AgentInputItem): Wire {
  switch (item.type) {
    case undefined:
    case "message":
      return { type: "message", role: item.role, content: contentToWire(item.content) };
    case "function_call":
      return { type: item.type, call_id: item.callId, name: item.name, arguments: item.arguments };
    case "function_call_result":
      return { type: "function_call_output", call_id: item.callId, output: outputToWire(item.output) };
    case "reasoning": {
      const summary = item.content.map(({ text }) => ({ type: "summary_text", text }));
      return { ...item.providerData, type: item.type, ...(item.id && { id: item.id }), summary };
    }
    case "hosted_tool_call": {
      const output = item.output === undefined ? {} : { [outputName(item.name)]: item.output };
      const { id, status, providerData } = item;
      return { type: item.name, ...(id && { id }), ...(status && { status }), ...output, ...providerData };
    }
    case "unknown":
      return { ...item.providerData };
    default:
      return OWN_KINDS.test(item.type) ? renamed({ ...item }, snakeCase) : { ...item };
  }
}

function contentToWire(content: string | readonly Wire[]): string | Wire[] {
  return typeof content === "string" ? content : content.map(partToWire);
}

function partToWire(part: Wire): Wire {
  const { providerData: _, promptCacheBreakpoint: __, image, file, ...rest } = part;
  if (part["type"] === "input_image") return { ...rest, ...imageToWire(image) };
  if (part["type"] === "input_file") return { ...rest, ...fileToWire(file) };
  if (part["type"] === "refusal") return { type: "output_text", text: part["refusal"] }; // Quire lists no refusals
  return { ...rest, ...(image !== undefined && { image }) };
}

function imageToWire(image: unknown): Wire {
  if (typeof image === "string") return { image_url: image };
  return isWire(image) ? { file_id: image["id"] } : {};
}

function fileToWire(file: unknown): Wire {
  if (typeof file === "string") return /^https?:/.test(file) ? { file_url: file } : { file_data: file };
  if (!isWire(file)) return {};
  return "url" in file ? { file_url: file["url"] } : { file_id: file["id"] };
}

/** A result is a text, a list of parts, or one part in the form of a tool's return value. */
function outputToWire(output: unknown): string | Wire[] {
  if (typeof output === "string") return output;
  if (Array.isArray(output)) return output.map(partToWire);
  if (!isWire(output)) return String(output);
  if (output["type"] === "text") return String(output["text"]);
  if (output["type"] === "image") return [{ type: "input_image", ...returnedToWire(output["image"], imageToWire) }];
  const filename = isWire(output["file"]) && output["file"]["filename"];
  return [{ type: "input_file", ...(filename && { filename }), ...returnedToWire(output["file"], fileToWire) }];
}

/** A tool can also return bytes, and names an uploaded file by `fileId`. */
function returnedToWire(value: unknown, toWire: (value: unknown) => Wire): Wire {
  if (!isWire(value) || (!("data" in value) && !("fileId" in value))) {
    return toWire(isWire(value) && "url" in value && toWire === imageToWire ? value["url"] : value);
  }
  if ("fileId" in value) return { file_id: value["fileId"] };
  const { data, mediaType } = value;
  const base64 = typeof data === "string" ? data : Buffer.from(data as Uint8Array).toString("base64");
  return toWire(base64.startsWith("data:") ? base64 : `data:${mediaType ?? "image/png"};base64,${base64}`);
}

// --- From Quire ---

/** Return an item as the SDK knows it. `tools` are the names of the called tools by the call's id. */
export function fromWire(item: Wire, tools: ReadonlyMap<string, string>): AgentInputItem {
  return known(item, tools) as AgentInputItem;
}

/** Return the names of the tools that items call, by the call's id. */
export function calledTools(items: readonly Wire[]): Map<string, string> {
  return new Map(
    items.filter((item) => item["type"] === "function_call").map((item) => [item["call_id"], item["name"]]),
  );
}

function known(item: Wire, tools: ReadonlyMap<string, string>): Wire {
  const { id, type, status = "completed" } = item;
  if (OWN_KINDS.test(type)) return renamed(item, camelCase);
  switch (type) {
    case "message":
      return message(item);
    case "function_call":
      return { type, id, callId: item["call_id"], name: item["name"], arguments: item["arguments"], status };
    case "function_call_output": {
      const callId = item["call_id"];
      const output = typeof item["output"] === "string" ? item["output"] : item["output"].map(partFromWire);
      return { type: "function_call_result", id, callId, name: tools.get(callId) ?? callId, status, output };
    }
    case "reasoning": {
      const { id: _, type: __, summary = [], status: ___, ...providerData } = item;
      return { type, id, content: summary.map(({ text }: Wire) => ({ type: "input_text", text })), providerData };
    }
    case "custom_tool_call":
    case "custom_tool_call_output":
      return { type: "unknown", id, providerData: item };
  }
  const { [outputName(type)]: output, ...providerData } = item;
  return { type: "hosted_tool_call", id, name: type, status, ...(output && { output }), providerData };
}

function message(item: Wire): Wire {
  const { id, type, content } = item;
  const role = item["role"] === "developer" ? "system" : item["role"];
  if (role === "user") {
    return { id, type, role, content: typeof content === "string" ? content : content.map(partFromWire) };
  }
  if (role === "system") {
    return { id, type, role, content: typeof content === "string" ? content : texts(content) };
  }
  return { id, type, role, status: item["status"] ?? "completed", content: content.map(said) };
}

function said(part: Wire): Wire {
  return part["type"] === "output_text" ? { type: "output_text", text: part["text"] } : part;
}

function texts(content: readonly Wire[]): string {
  return content.map((part) => part["text"] ?? "").join("\n");
}

function partFromWire(part: Wire): Wire {
  const { image_url, file_id, file_url, file_data, ...rest } = part;
  if (part["type"] === "input_image") return { ...rest, image: image_url ?? { id: file_id } };
  if (part["type"] === "input_file") {
    return { ...rest, file: file_data ?? (file_url ? { url: file_url } : { id: file_id }) };
  }
  return part;
}

function outputName(type: string): "output" | "result" {
  return type === "image_generation_call" ? "result" : "output";
}

function isWire(value: unknown): value is Wire {
  return typeof value === "object" && value !== null;
}

/** Return an item, or a part of one, with other names of fields, however deep. */
function renamed<T>(value: T, rename: (name: string) => string): T {
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename)) as T;
  if (!isWire(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [rename(name), renamed(one, rename)])) as T;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
