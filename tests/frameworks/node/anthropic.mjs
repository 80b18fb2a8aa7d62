import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { z } from "zod";
const [, , url] = process.argv;
const out = {};
for (const model of ["fake", "claude-fake", "gpt-fake"]) {
  const client = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0, defaultHeaders: { "X-Quire-Conversation": `anthropic-${model}` } });
  const look = betaZodTool({ name: "look", description: "Look at a place.", inputSchema: z.object({ at: z.string() }), run: async ({ at }) => `saw ${at}` });
  const runner = client.beta.messages.toolRunner({ model, max_tokens: 500, messages: [{ role: "user", content: "Look." }], tools: [look], max_iterations: 4 });
  const last = await runner.runUntilDone();
  const stream = client.messages.stream({ model, max_tokens: 500, messages: [{ role: "user", content: "Look." }, { role: "assistant", content: "Seen." }, { role: "user", content: "Which tea?" }] });
  const said = await stream.finalText();
  const counted = await client.messages.countTokens({ model, messages: [{ role: "user", content: "Which tea?" }] });
  out[model] = { text: last.content.filter((b) => b.type === "text").map((b) => b.text).join(""), said, counted: counted.input_tokens };
}
const bad = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0 });
out.refused = await bad.messages.create({ model: "fake", max_tokens: 5, messages: [{ role: "nobody", content: "x" }] }).catch((error) => [error.constructor.name, error.status, error.type ?? error.error?.error?.type]);
console.log(JSON.stringify(out));
