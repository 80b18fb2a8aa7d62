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
import { Conflict, NotFound } from "./errors.js";
import { type Wire, calledTools, fromWire, toWire } from "./items.js";

const ITEMS_AT_ONCE = 100;
const ADDED_AT_ONCE = 1_000;

interface Page {
  data: Wire[];
  has_more: boolean;
  last_id: string;
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
    const found: Wire[] = [];
    let after: string | undefined;
    while (found.length < limit) {
      const page = await this.#page(Math.min(ITEMS_AT_ONCE, limit - found.length), after);
      found.push(...page.data);
      if (!page.has_more) break;
      after = page.last_id;
    }
    const tools = calledTools(found);
    return found.reverse().map((item) => fromWire(item, tools));
  }

  /** Store items. The conversation is created if it is new. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    for (let first = 0; first < items.length; first += ADDED_AT_ONCE) {
      const body = { items: items.slice(first, first + ADDED_AT_ONCE).map(toWire) };
      const add = () => this.#send(written("POST", this.#path("items"), body));
      try {
        await add();
      } catch (error) {
        if (!(error instanceof NotFound)) throw error;
        await this.#create();
        await add();
      }
    }
  }

  /** Erase the newest item, with the other items of its message, and return it; undefined if there is none. */
  async popItem(): Promise<AgentInputItem | undefined> {
    const [newest] = await this.getItems(1);
    const id = (newest as Wire | undefined)?.["id"];
    if (id) await this.#send(written("DELETE", this.#path("items", id)));
    return newest;
  }

  /** Erase the conversation and everything derived from it. */
  async clearSession(): Promise<void> {
    try {
      await this.#send(written("DELETE", this.#path()));
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
  }

  /** The ids are Quire's: the model's API would look for them in vain. */
  prepareHistoryItemForModelInput(item: AgentInputItem): AgentInputItem {
    const { id: _, ...rest } = item as Wire;
    return rest as AgentInputItem;
  }

  /** Compare items by what Quire stores of them. */
  prepareHistoryItemsForPersistenceComparison(items: AgentInputItem[]): AgentInputItem[] {
    return items.map((item) => {
      const { id: _, status: __, content, ...rest } = toWire(item);
      const parts = typeof content === "string" ? [{ type: "input_text", text: content }] : content;
      return { ...rest, ...(parts && { content: parts }) } as unknown as AgentInputItem;
    });
  }

  async #page(limit: number, after: string | undefined): Promise<Page> {
    try {
      const query = { order: "desc", limit, after };
      return await this.#send<Page>({ method: "GET", path: this.#path("items"), query });
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      return { data: [], has_more: false, last_id: "" };
    }
  }

  async #create(): Promise<void> {
    try {
      const body = { id: this.#conversation, user_id: this.#userId };
      await this.#quire.send(written("POST", "/conversations", body));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error; // another call has just made it
    }
  }

  #send<Answer>(call: Call): Promise<Answer> {
    return this.#quire.send({ ...call, headers: { "x-quire-user": encodeURIComponent(this.#userId) } });
  }

  #path(...parts: string[]): string {
    return pathOf("v1", "conversations", this.#conversation, ...parts);
  }
}
