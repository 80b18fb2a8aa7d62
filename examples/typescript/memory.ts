// Quire from TypeScript, with a client generated from its OpenAPI document:
//   npm install && npm run generate && npm run build && npm start -- http://127.0.0.1:8000
// The compiler checks every path, body and response below.
import createClient from "openapi-fetch";
import type { components, paths } from "./quire.d.ts";

declare const process: { argv: string[]; env: Record<string, string | undefined> };

const key = process.env["QUIRE_API_KEY"];
const quire = createClient<paths>({
  baseUrl: process.argv[2] ?? "http://127.0.0.1:8000",
  headers: key ? { Authorization: `Bearer ${key}` } : {},
});

// All errors have one form: application/problem+json.
function had<T>(answer: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (answer.data === undefined) throw new Error(`${answer.error?.status}: ${answer.error?.detail}`);
  return answer.data;
}

const path = { conversation_id: "from-typescript" };
const appended = had(
  await quire.POST("/conversations/{conversation_id}/messages", {
    params: { path },
    body: { user_id: "me", messages: [{ role: "user", content: "Which tea do I like?" }] },
  }),
);
console.log(`stored as message ${appended.messages[0]?.seq} on page ${appended.page}`);

const window = had(
  await quire.GET("/conversations/{conversation_id}/context", { params: { path, query: { budget: 8000 } } }),
);
console.log(`a window of ${window.messages.length} messages, ${window.usage.total} of ${window.usage.budget} tokens`);

const found = had(await quire.POST("/memories/search", { body: { user_id: "me", query: "tea" } }));
console.log(`found: ${found.results.map((result) => result.summary).join("; ")}`);

const { error } = await quire.GET("/conversations/{conversation_id}", {
  params: { path: { conversation_id: "nobody's" } },
});
console.log(`unknown: ${error?.status} ${error?.title}`);
