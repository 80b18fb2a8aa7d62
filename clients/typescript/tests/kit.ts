// What the tests share: the service they run against, and its history of a conversation.
import { Quire } from "../src/index.js";

export const QUIRE_URL = process.env["QUIRE_URL"] ?? "http://127.0.0.1:8000";

export const quire = new Quire(QUIRE_URL);

/** A name that no other test uses. */
export const fresh = (name: string): string => `${name} ${crypto.randomUUID()}`;

export interface Line {
  role: string;
  content: unknown;
  tool_calls?: unknown[];
}

export async function history(conversation: string): Promise<Line[]> {
  const path = `/conversations/${encodeURIComponent(conversation)}/messages`;
  const { items } = await quire.send<{ items: Line[] }>({ method: "GET", path });
  return items;
}
