import { createAgent, tool } from "langchain";
import { ChatOpenAI } from "@langchain/openai";
import { ChatAnthropic } from "@langchain/anthropic";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { z } from "zod";
const [, , url] = process.argv;
const out = {};
const named = (conversation) => ({ "X-Quire-Conversation": conversation });
const look = tool(async ({ at }) => `saw ${at}`, { name: "look", description: "Look at a place.", schema: z.object({ at: z.string() }) });
const kinds = {
  chat: (model) => new ChatOpenAI({ model, apiKey: "any", maxRetries: 0, useResponsesApi: false, configuration: { baseURL: `${url}/v1`, defaultHeaders: named(`lc-chat-${model}`) } }),
  responses: (model) => new ChatOpenAI({ model, apiKey: "any", maxRetries: 0, useResponsesApi: true, configuration: { baseURL: `${url}/v1`, defaultHeaders: named(`lc-responses-${model}`) } }),
  messages: (model) => new ChatAnthropic({ model, apiKey: "any", maxRetries: 0, anthropicApiUrl: url, clientOptions: { defaultHeaders: named(`lc-messages-${model}`) } }),
};
for (const [kind, make] of Object.entries(kinds)) for (const model of ["fake", "claude-fake", "gpt-fake"]) {
  const agent = createAgent({ model: make(model), tools: [look] });
  const first = await agent.invoke({ messages: [{ role: "user", content: "Look." }] });
  const then = await agent.invoke({ messages: [...first.messages, { role: "user", content: "Which tea?" }] });
  let said = ""; for await (const piece of await make(model).stream([...then.messages, { role: "user", content: "And?" }])) said += piece.text;
  out[`${kind} ${model}`] = { text: first.messages.at(-1).text, then: then.messages.at(-1).text, said, usage: then.messages.at(-1).usage_metadata?.input_tokens > 0 };
}
const mcp = new MultiServerMCPClient({ mcpServers: { quire: { transport: "http", url: `${url}/mcp?user_id=me` } } });
out.mcp = (await mcp.getTools()).map((tool) => tool.name).sort(); await mcp.close();
console.log(JSON.stringify(out));
