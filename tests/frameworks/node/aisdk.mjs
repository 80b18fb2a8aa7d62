import { createOpenAI } from "@ai-sdk/openai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createMCPClient } from "@ai-sdk/mcp";
import { generateText, streamText, stepCountIs, tool, generateObject } from "ai";
import { z } from "zod";
const [, , url] = process.argv;
const out = {};
const headers = (conversation) => ({ "X-Quire-Conversation": conversation, "X-Quire-User": "me" });
const kinds = {
  responses: (model) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "any", headers: headers(`ai-responses-${model}`) }).responses(model),
  chat: (model) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "any", headers: headers(`ai-chat-${model}`) }).chat(model),
  compatible: (model) => createOpenAICompatible({ name: "quire", baseURL: `${url}/v1`, apiKey: "any", headers: headers(`ai-compatible-${model}`) })(model),
  messages: (model) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "any", headers: headers(`ai-messages-${model}`) })(model),
};
const tools = { look: tool({ description: "Look at a place.", inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` }) };
for (const [kind, make] of Object.entries(kinds)) for (const model of ["fake", "claude-fake", "gpt-fake"]) {
  const messages = [{ role: "user", content: "Look." }];
  const first = await generateText({ model: make(model), messages, tools, stopWhen: stepCountIs(4), maxRetries: 0 });
  messages.push(...first.response.messages, { role: "user", content: "Which tea?" });
  const streamed = streamText({ model: make(model), messages, tools, stopWhen: stepCountIs(4), maxRetries: 0 });
  let said = ""; for await (const piece of streamed.textStream) said += piece;
  out[`${kind} ${model}`] = { text: first.text, steps: first.steps.length, said, tokens: (await streamed.usage).inputTokens > 0 };
}
const mcp = await createMCPClient({ transport: { type: "http", url: `${url}/mcp?user_id=me` } });
out.mcp = Object.keys(await mcp.tools()).sort(); await mcp.close();
console.log(JSON.stringify(out));
