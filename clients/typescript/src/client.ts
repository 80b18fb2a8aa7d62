// The client: a method for each call, typed from the OpenAPI document.
import type { components } from "./api.js";
import { ConnectionFailed, Invalid, problemOf } from "./errors.js";
import { type EventOptions, Following, Quiet, type QuireEvent, waited } from "./events.js";
import { RETRIES, type Retries, pauseBeforeNext } from "./retries.js";

type Schemas = components["schemas"];
export type Message = Schemas["AppendBody"]["messages"][number];
export type Appended = Schemas["Appended"];
export type Synced = Schemas["Synced"];
export type Conversation = Schemas["ConversationResponse"];
export type BranchList = Schemas["BranchList"];
export type Reported = Schemas["Reported"];
export type Window = Schemas["ContextResponse"];
export type ServedList = Schemas["ServedList"];
export type ServedWindow = Schemas["ServedWindow"];
export type WindowDifference = Schemas["WindowDifference"];
export type Whereabouts = Schemas["Whereabouts"];
export type ToolSchemas = Schemas["ToolSchemas"];
export type ToolResult = Schemas["ToolResult"];
export type SearchResults = Schemas["SearchResults"];
export type RecallResult = Schemas["RecallResult"];
export type Erased = Schemas["ErasureResponse"];
export type UsageList = Schemas["UsageList"];
export type AuditList = Schemas["AuditList"];
export type Webhook = Schemas["Webhook"];
export type NewWebhook = Schemas["NewWebhook"];
export type { EventOptions, QuireEvent };

export interface Options {
  apiKey?: string | undefined;
  timeoutSeconds?: number;
  retries?: Retries;
}

/** A request as a value. `key` is the Idempotency-Key of a write, which retries repeat. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  key?: string;
  headers?: Record<string, string>;
}

/** With `key`, your own Idempotency-Key: the same write with the same key is done once. */
export type Write<Body> = Body & { key?: string };

const URL_BY_DEFAULT = "http://127.0.0.1:8000";
const TIMEOUT_SECONDS = 60;

/** Client of a Quire service. */
export class Quire {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutSeconds: number;
  readonly #retries: Retries;

  constructor(url: string = URL_BY_DEFAULT, options: Options = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {};
    this.#timeoutSeconds = options.timeoutSeconds ?? TIMEOUT_SECONDS;
    this.#retries = options.retries ?? RETRIES;
  }

  // --- Conversations ---

  /** Store messages, all or none. `user_id` creates a new conversation. */
  append(
    conversation: string,
    messages: readonly Message[],
    { key, ...body }: Write<Omit<Schemas["AppendBody"], "messages">> = {},
  ): Promise<Appended> {
    const path = pathOf("conversations", conversation, "messages");
    return this.send(written("POST", path, { messages, ...body }, key));
  }

  /** Store what is new in your own message list. Long lists are stored in several steps. */
  async sync(
    conversation: string,
    messages: readonly Message[],
    options: Omit<Schemas["SyncBody"], "messages"> = {},
  ): Promise<Synced> {
    const path = pathOf("conversations", conversation, "sync");
    const sync = (some: readonly Message[]) =>
      this.send<Synced>(written("POST", path, { messages: some, ...options }));
    for (;;) {
      try {
        return await sync(messages);
      } catch (error) {
        await sync(messages.slice(0, nextEnd(error)));
      }
    }
  }

  /** Make a branch that shares everything up to a message (`at`; the newest), and goes on by itself. */
  fork(conversation: string, { key, ...body }: Write<Schemas["ForkBody"]> = {}): Promise<Conversation> {
    return this.send(written("POST", pathOf("conversations", conversation, "fork"), body, key));
  }

  /** Write a result of a branch or a sub-agent back to its parent, once: a `text`, or an answer (`at`; the newest). */
  report(conversation: string, { key, ...body }: Write<Schemas["ReportBody"]> = {}): Promise<Reported> {
    return this.send(written("POST", pathOf("conversations", conversation, "report"), body, key));
  }

  /** List the branches of a conversation's tree, the latest activity first. */
  branches(conversation: string, query: { cursor?: string; limit?: number } = {}): Promise<BranchList> {
    return this.send({ method: "GET", path: pathOf("conversations", conversation, "branches"), query });
  }

  /** Get the window for the next model call. `query` brings in memories that answer it. */
  context(conversation: string, options: Schemas["ContextBody"] = {}): Promise<Window> {
    return this.send({ method: "POST", path: pathOf("conversations", conversation, "context"), body: options });
  }

  /** List the windows that were served, newest first. */
  windows(conversation: string, query: { cursor?: string; limit?: number } = {}): Promise<ServedList> {
    return this.send({ method: "GET", path: pathOf("conversations", conversation, "windows"), query });
  }

  /** Get a window back as it was served; `verified` says whether it is the same byte for byte. */
  window(conversation: string, number: number): Promise<ServedWindow> {
    return this.send({ method: "GET", path: pathOf("conversations", conversation, "windows", String(number)) });
  }

  /** Get what came into a served window and what went out, and why, since another; by default the one before. */
  windowChanges(conversation: string, number: number, since?: number): Promise<WindowDifference> {
    const path = pathOf("conversations", conversation, "windows", String(number), "diff");
    return this.send({ method: "GET", path, query: { from: since } });
  }

  /** Get a message's place in the window of now, and the `recalls` that bring it back, with their tokens. */
  why(conversation: string, seq: number, budget?: number): Promise<Whereabouts> {
    return this.send({ method: "GET", path: pathOf("conversations", conversation, "why"), query: { seq, budget } });
  }

  /** Erase a conversation. Returns the number of deleted rows per table. */
  delete(conversation: string, { key }: Write<object> = {}): Promise<Erased> {
    return this.send(written("DELETE", pathOf("conversations", conversation), undefined, key));
  }

  // --- Tools ---

  /** Get the recall tools' schemas and their guide. */
  tools(format: ToolSchemas["format"] = "openai"): Promise<ToolSchemas> {
    return this.send({ method: "GET", path: "/tools", query: { format } });
  }

  /** Run a recall tool that the model called. The model's mistakes are in the result, not thrown. */
  callTool(
    conversation: string,
    name: string,
    args: Record<string, unknown> = {},
    { key }: Write<object> = {},
  ): Promise<ToolResult> {
    const path = pathOf("conversations", conversation, "tools", name);
    return this.send(written("POST", path, { arguments: args }, key));
  }

  // --- Memories ---

  /** Search memories of a user or a conversation. */
  search(query: string, options: Omit<Schemas["SearchBody"], "query"> = {}): Promise<SearchResults> {
    return this.send({ method: "POST", path: "/memories/search", body: { query, ...options } });
  }

  /** Run the recall agent. */
  recall(query: string, options: Omit<Schemas["RecallBody"], "query"> = {}): Promise<RecallResult> {
    return this.send({ method: "POST", path: "/memories/recall", body: { query, ...options } });
  }

  /** Store a memory of a user, a space or a conversation. */
  remember({
    key,
    memoryKey,
    ...body
  }: Write<Omit<Schemas["MemoryBody"], "key"> & { memoryKey?: string }>): Promise<Schemas["MemoryDetail"]> {
    return this.send(written("POST", "/memories", memoryKey === undefined ? body : { ...body, key: memoryKey }, key));
  }

  /** List memories that are held, or proposals, newest first. */
  memories(query: Record<string, string | number | undefined> = {}): Promise<Schemas["MemoryList"]> {
    return this.send({ method: "GET", path: "/memories", query });
  }

  /** Change or end a memory, accept or refuse a proposal. */
  changeMemory(
    memory: string,
    { key, ...changes }: Write<Schemas["MemoryChange"]>,
  ): Promise<Schemas["MemoryDetail"]> {
    return this.send(written("PATCH", pathOf("memories", memory), changes, key));
  }

  /** List what a memory's key said over time, the latest first. */
  versions(memory: string, query: { cursor?: string; limit?: number } = {}): Promise<Schemas["MemoryVersions"]> {
    return this.send({ method: "GET", path: pathOf("memories", memory, "versions"), query });
  }

  /** Erase a memory. */
  forget(memory: string, { key }: Write<object> = {}): Promise<Schemas["MemoryErased"]> {
    return this.send(written("DELETE", pathOf("memories", memory), undefined, key));
  }

  // --- Spaces ---

  /** List spaces: all, or a user's. */
  spaces(query: { user_id?: string; cursor?: string; limit?: number } = {}): Promise<Schemas["SpaceList"]> {
    return this.send({ method: "GET", path: "/spaces", query });
  }

  /** Change a space's name, participants or metadata. */
  changeSpace(space: string, { key, ...changes }: Write<Schemas["SpaceChange"]>): Promise<Schemas["Space"]> {
    return this.send(written("PATCH", pathOf("spaces", space), changes, key));
  }

  /** Erase a space with its conversations and memories. */
  deleteSpace(space: string, { key }: Write<object> = {}): Promise<Erased> {
    return this.send(written("DELETE", pathOf("spaces", space), undefined, key));
  }

  /** List the members of a space. */
  members(space: string, query: { cursor?: string; limit?: number } = {}): Promise<Schemas["MemberList"]> {
    return this.send({ method: "GET", path: pathOf("spaces", space, "members"), query });
  }

  /** Create a space that its members share. */
  createSpace({ key, ...body }: Write<Schemas["SpaceCreate"]> = {}): Promise<Schemas["Space"]> {
    return this.send(written("POST", "/spaces", body, key));
  }

  /** Make a user a member who reads, or reads and writes. */
  putMember(
    space: string,
    user: string,
    right: "read" | "write" = "write",
    { key }: Write<object> = {},
  ): Promise<Schemas["Member"]> {
    return this.send(written("PUT", pathOf("spaces", space, "members", user), { right }, key));
  }

  /** Remove a member: from the next request on they see nothing of the space. */
  removeMember(space: string, user: string, { key }: Write<object> = {}): Promise<Schemas["MemberRemoved"]> {
    return this.send(written("DELETE", pathOf("spaces", space, "members", user), undefined, key));
  }

  // --- What an operator asks ---

  /**
   * Iterate over the tenant's events after a sequence number, by default from now on, until you leave the loop or abort
   * `signal`; without `wait` until all that is stored was read. A stream that breaks off is resumed.
   */
  async *events(options: EventOptions = {}): AsyncGenerator<QuireEvent, void, void> {
    const { wait = true, signal } = options;
    const following = new Following(options, this.#retries);
    while (!signal?.aborted) {
      const quiet = new Quiet(signal);
      let answer: Response | undefined;
      let error: unknown;
      try {
        answer = await this.#fetch({ method: "GET", path: "/events", query: following.query }, quiet.signal);
        if (answer.ok) {
          yield* following.read(answer, quiet.touch);
          if (!wait) return;
          answer = undefined;
        } else error = problemOf(answer.status, parsed(await answer.text()));
      } catch (cause) {
        answer = undefined;
        error = this.#unanswered(cause);
      } finally {
        quiet.end();
      }
      const pause = following.pause(answer);
      if (signal?.aborted) return;
      if (pause === undefined) throw error;
      await waited(pause, signal);
    }
  }

  /** Get model calls, tokens and cost since a day, by default 30 days ago. */
  usage(
    query: { by?: UsageList["by"]; since?: string; cursor?: string; limit?: number } = {},
  ): Promise<UsageList> {
    return this.send({ method: "GET", path: "/usage", query });
  }

  /** List the log of reads and erasures, oldest first. It is empty unless the service keeps one. */
  audit(
    query: { since?: string; action?: "read" | "erase"; user_id?: string; cursor?: string; limit?: number } = {},
  ): Promise<AuditList> {
    return this.send({ method: "GET", path: "/audit", query });
  }

  /** List the tenant's webhooks. */
  webhooks(): Promise<Schemas["WebhookList"]> {
    return this.send({ method: "GET", path: "/webhooks" });
  }

  /** Have events of these `types`, by default all, sent to a `url`. `secret`, to verify them, is shown this once. */
  addWebhook({ key, ...body }: Write<Schemas["WebhookBody"]>): Promise<NewWebhook> {
    return this.send(written("POST", "/webhooks", body, key));
  }

  /** Delete a webhook. What waits for it is not sent. */
  deleteWebhook(webhook: string, { key }: Write<object> = {}): Promise<Webhook> {
    return this.send(written("DELETE", pathOf("webhooks", webhook), undefined, key));
  }

  // --- Any request ---

  /** Send any request. Returns the response's JSON, or throws an error of `errors.ts`. */
  async send<Answer>(call: Call): Promise<Answer> {
    for (let failures = 1; ; failures++) {
      let answer: Response | undefined;
      let error: unknown;
      try {
        answer = await this.#fetch(call);
        const text = await answer.text();
        if (answer.ok) return (text ? JSON.parse(text) : undefined) as Answer;
        error = problemOf(answer.status, parsed(text));
      } catch (cause) {
        answer = undefined;
        error = this.#unanswered(cause);
      }
      const pause = pauseBeforeNext(this.#retries, failures, answer);
      if (pause === undefined) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * 1000));
    }
  }

  #unanswered(cause: unknown): ConnectionFailed {
    return new ConnectionFailed(`Quire at ${this.#url} did not answer: ${reason(cause)}`, { cause });
  }

  #fetch({ method, path, query, body, key, headers }: Call, signal?: AbortSignal): Promise<Response> {
    const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
    return fetch(`${this.#url}${path}${search && `?${search}`}`, {
      method,
      headers: {
        ...this.#headers,
        ...headers,
        ...(key && { "idempotency-key": key }),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal ?? AbortSignal.timeout(this.#timeoutSeconds * 1000),
    });
  }
}

/** Return a path of the API, its parts escaped. */
export function pathOf(...parts: string[]): string {
  return parts.map((part) => `/${encodeURIComponent(part)}`).join("");
}

/** Return a write, with an Idempotency-Key of its own unless one is given. */
export function written(method: Call["method"], path: string, body?: unknown, key?: string): Call {
  return { method, path, body, key: key ?? crypto.randomUUID() };
}

/** Where the next step of a list that is too long at once ends. Throws any other error. */
function nextEnd(error: unknown): number {
  if (!(error instanceof Invalid) || !("messages_max" in error.extra)) throw error;
  return Number(error.extra["matched"]) + Number(error.extra["messages_max"]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: text.slice(0, 500) };
  }
}

function reason(cause: unknown): string {
  const inner = cause instanceof Error ? (cause.cause ?? cause) : cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
