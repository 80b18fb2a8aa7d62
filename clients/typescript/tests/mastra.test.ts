import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import type { MastraDBMessage, MessageListInput } from "@mastra/core/agent/message-list";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

import { type Call, Quire } from "../src/index.js";
import { type ProcessorOptions, QuireProcessor } from "../src/mastra.js";
import { fresh, history, quire } from "./kit.js";
import { type Asked, PlayedModel } from "./model.js";

let played: PlayedModel;
before(async () => {
  played = await PlayedModel.start();
});
after(() => played.stop());

const look = createTool({
  id: "look",
  description: "Look at something.",
  inputSchema: z.object({ at: z.string() }),
  execute: async ({ at }) => `saw ${at}`,
});

function agentOf(service: Quire = quire, options: ProcessorOptions = {}): Agent {
  const model = createOpenAI({ baseURL: played.url, apiKey: "unused" }).chat("played");
  return new Agent({
    id: "tea",
    name: "Tea",
    instructions: "Be brief.",
    model: model as unknown as MastraModelConfig,
    tools: { look },
    inputProcessors: [new QuireProcessor(service, { budget: 8000, ...options })],
  });
}

const shown = (asked: Asked | undefined) =>
  (asked?.messages ?? []).filter(({ role }) => role !== "system").map(({ content }) => content);
const said = async (thread: string) => (await history(thread)).map(({ content }) => content);
const never = { times: 0, pauseSeconds: 0, pauseMaxSeconds: 0 };

test("a call that says only what is new has the whole thread before it", async () => {
  const memory = { thread: fresh("turns"), resource: fresh("me") };
  played.says("Noted.", "Longjing.");
  await agentOf().generate("I like longjing.", { memory });
  assert.equal((await agentOf().generate("Which tea?", { memory })).text, "Longjing.");
  assert.deepEqual(shown(played.asked.at(-1)), ["I like longjing.", "Noted.", "Which tea?"]);
  assert.match(String(played.asked.at(-1)?.messages[0]?.content), /Be brief\./);
  assert.deepEqual(await said(memory.thread), ["I like longjing.", "Noted.", "Which tea?", "Longjing."]);
});

test("what a user said in one thread is found in the next, and another user never sees it", async () => {
  const resource = fresh("me");
  const agent = agentOf();
  played.says("Noted.", "Longjing.", "Which one?");
  await agent.generate("My favourite tea is longjing.", { memory: { thread: fresh("first"), resource } });
  const question = "What is my favourite tea?";
  await agent.generate(question, { memory: { thread: fresh("second"), resource } });
  assert.match(JSON.stringify(shown(played.asked.at(-1))), /longjing/);
  await agent.generate(question, { memory: { thread: fresh("third"), resource: fresh("somebody") } });
  assert.deepEqual(shown(played.asked.at(-1)), [question]);
});

test("another user's thread is refused, and nothing is stored", async () => {
  const thread = fresh("private");
  played.says("Noted.");
  await agentOf().generate("My secret.", { memory: { thread, resource: fresh("me") } });
  const asked = played.asked.length;
  await assert.rejects(agentOf().generate("Tell me.", { memory: { thread, resource: "somebody 别人" } }));
  assert.equal(played.asked.length, asked);
  assert.deepEqual(await said(thread), ["My secret.", "Noted."]);
});

test("parallel calls stay with their results, and recall tools are run by the agent", async () => {
  const memory = { thread: fresh("tools"), resource: fresh("me") };
  played.says(
    [{ name: "look", arguments: '{"at":"a"}' }, { name: "look", arguments: '{"at":"b"}' }],
    [{ name: "recall_page", arguments: '{"page": 1}' }],
    "Seen.",
  );
  assert.equal((await agentOf().generate("Look.", { memory })).text, "Seen.");
  const lines = await history(memory.thread);
  const expected = ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"];
  assert.deepEqual(lines.map(({ role }) => role), expected);
  assert.deepEqual(lines.slice(2, 4).map(({ content }) => content), ["saw a", "saw b"]);
  assert.match(String(lines[5]?.content), /Look\./);
  const roles = played.asked.at(-1)?.messages.map(({ role }) => role);
  assert.deepEqual(roles, ["system", ...expected.slice(0, 6)]);
});

test("a streamed answer is stored when the stream ends", async () => {
  const memory = { thread: fresh("stream"), resource: fresh("me") };
  played.says([{ name: "look", arguments: '{"at":"龙井"}' }], "看到了。");
  const answer = await agentOf().stream("看龙井", { memory });
  assert.equal(await answer.text, "看到了。");
  const lines = await history(memory.thread);
  assert.deepEqual(lines.map(({ role }) => role), ["user", "assistant", "tool", "assistant"]);
  assert.equal(lines.at(-1)?.content, "看到了。");
});

test("a run that failed and is repeated, or a whole list, stores nothing twice", async () => {
  const memory = { thread: fresh("again"), resource: fresh("me") };
  const agent = agentOf();
  played.fails();
  await assert.rejects(agent.generate("Which tea?", { memory }));
  assert.deepEqual(await said(memory.thread), ["Which tea?"]);
  played.says("Longjing.", "It is green.");
  await agent.generate("Which tea?", { memory });
  const whole: MessageListInput = [
    { role: "user", content: "Which tea?" },
    { role: "assistant", content: "Longjing." },
    { role: "user", content: "Why?" },
  ];
  await agent.generate(whole, { memory });
  assert.deepEqual(await said(memory.thread), ["Which tea?", "Longjing.", "Why?", "It is green."]);
});

test("what the model's API counted is reported with the next step", async () => {
  const bodies: string[] = [];
  class Watched extends Quire {
    override send<Answer>(call: Call): Promise<Answer> {
      bodies.push(JSON.stringify(call.body));
      return super.send<Answer>(call);
    }
  }
  played.says([{ name: "look", arguments: '{"at":"a"}' }], "Seen.");
  const service = new Watched(process.env["QUIRE_URL"]);
  await agentOf(service).generate("Look.", { memory: { thread: fresh("usage"), resource: fresh("me") } });
  const synced = bodies.filter((body) => body?.includes("on_fork"));
  assert.match(String(synced[1]), /"reported_usage":\{"window_tokens":\d+,"prompt_tokens":50\}/);
});

test("a call without a thread or a user is refused by name, whatever its messages claim", async () => {
  await assert.rejects(agentOf().generate("Hello"), /memory: \{ thread, resource \}/);
  const part = { type: "text" as const, text: "Hello" };
  const claimed: MastraDBMessage = {
    id: fresh("message"),
    role: "user",
    createdAt: new Date(),
    content: { format: 2, parts: [part] },
    threadId: fresh("claimed"),
    resourceId: "somebody",
  };
  await assert.rejects(agentOf().generate([claimed]), /memory: \{ thread, resource \}/);
});

test("without Quire a call fails, or goes on without memory if that is allowed", async () => {
  const stopped = await PlayedModel.start();
  stopped.stop();
  const away = new Quire(stopped.url, { retries: never });
  const memory = { thread: fresh("away"), resource: fresh("me") };
  await assert.rejects(agentOf(away).generate("Hello", { memory }), /did not answer/);
  played.says("Hi.");
  assert.equal((await agentOf(away, { required: false }).generate("Hello", { memory })).text, "Hi.");
});
