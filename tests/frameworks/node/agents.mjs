import { Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, OpenAIConversationsSession, MemorySession, run, tool, setTracingDisabled, Runner, MCPServerStreamableHttp } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
const [, , url] = process.argv;
setTracingDisabled(true);
const out = {};
const look = tool({ name: "look", description: "Look at a place.", parameters: z.object({ at: z.string() }), execute: async ({ at }) => `saw ${at}` });
for (const model of ["fake", "claude-fake", "gpt-fake"]) for (const [kind, Model] of Object.entries({ chat: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel })) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0, defaultHeaders: { "X-Quire-Conversation": `agents-${kind}-${model}` } });
  const agent = new Agent({ name: "A", instructions: "Be brief.", model: new Model(client, model), tools: [look] });
  const first = await run(agent, "Look.");
  const streamed = await run(agent, [...first.history, { role: "user", content: "Which tea?" }], { stream: true });
  let said = ""; for await (const piece of streamed.toTextStream()) said += piece; await streamed.completed;
  out[`${kind} ${model}`] = { text: first.finalOutput, said };
}
const server = new MCPServerStreamableHttp({ url: `${url}/mcp?conversation_id=agents-chat-fake`, name: "quire" });
await server.connect(); out.mcp = (await server.listTools()).map((tool) => tool.name).sort(); await server.close();
console.log(JSON.stringify(out));
