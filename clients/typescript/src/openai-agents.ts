// A session of the OpenAI Agents SDK that is a conversation of Quire.
//
//   const session = new QuireSession("tea", new Quire(), { userId: "me" });
//   await run(agent, "Which tea?", { session });
//
// The items are stored as messages, so search, memories, archives and every other client find them. `getItems` returns
// all of them as they were said. For Quire's window, let the model be asked through the proxy, with `conversationId` in
// place of a session.
import type { AgentInputItem, Session } from "@openai/agents";

import type { Call, Quire } from "./client.js";
import { pathOf, written } from "./client.js";
import { NotFound } from "./errors.js";
import { type Wire, itemsOf, messagesOf } from "./items.js";

const READ_AT_ONCE = 100;
const ADDED_AT_ONCE = 1_000;

interface Page {
  items: Wire[];
  next_cursor: string | null;
}

/** The SDK's `Session`. `conversation` is created with the first items, for `userId`; another user's is not found. */
export class QuireSession implements Session {
  readonly #conversation: string;
  readonly #quire: Quire;
  readonly #userId: string;

  constructor(conversation: string, quire: Quire, { userId }: { userId: string }) {
    this.#conversation = conversation;
    this.#quire = quire;
    this.#userId = userId;
  }

  async getSessionId(): Promise<string> {
    return this.#conversation;
  }

  /** Return the session's items, oldest first: all, or the newest `limit`. */
  async getItems(limit = Infinity): Promise<AgentInputItem[]> {
    const found: AgentInputItem[] = [];
    if (limit > 0) {
      for await (const message of this.#newest()) {
        found.push(...itemsOf(message).reverse());
        if (found.length >= limit) break;
      }
    }
    return found.slice(0, limit).reverse();
  }

  /** Store items. The conversation is created if it is new. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    const messages = messagesOf(items);
    for (let first = 0; first < messages.length; first += ADDED_AT_ONCE) {
      const body = { messages: messages.slice(first, first + ADDED_AT_ONCE), user_id: this.#userId };
      await this.#send(written("POST", this.#path("messages"), body));
    }
  }

  /** Erase the newest item, with the other items of its message, and return it; undefined if there is none. */
  async popItem(): Promise<AgentInputItem | undefined> {
    for await (const message of this.#newest()) {
      const newest = itemsOf(message).at(-1);
      if (newest) {
        await this.#send(written("DELETE", this.#path("messages", message["id"])));
        return newest;
      }
    }
    return undefined;
  }

  /** Erase the conversation and everything derived from it. */
  async clearSession(): Promise<void> {
    try {
      await this.#send(written("DELETE", this.#path()));
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
  }

  /** Iterate over the messages, newest first; of a conversation that is not there, over none. */
  async *#newest(): AsyncGenerator<Wire> {
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const query = { order: "desc", limit: READ_AT_ONCE, ...(cursor && { cursor }) };
      let page: Page;
      try {
        page = await this.#send<Page>({ method: "GET", path: this.#path("messages"), query });
      } catch (error) {
        if (error instanceof NotFound) return;
        throw error;
      }
      yield* page.items;
      cursor = page.next_cursor;
    }
  }

  #send<Answer>(call: Call): Promise<Answer> {
    return this.#quire.send({ ...call, headers: { "x-quire-user": encodeURIComponent(this.#userId) } });
  }

  #path(...parts: string[]): string {
    return pathOf("conversations", this.#conversation, ...parts);
  }
}
