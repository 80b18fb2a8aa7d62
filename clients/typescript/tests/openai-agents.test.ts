import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import {
  Agent,
  type AgentInputItem,
  OpenAIChatCompletionsModel,
  Runner,
  type Session,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";

import { QuireSession } from "../src/openai-agents.js";
import { fresh, history, quire } from "./kit.js";
import { PlayedModel } from "./model.js";

let model: PlayedModel;
before(async () => {
  setTracingDisabled(true);
  model = await PlayedModel.start();
});
after(() => model.stop());

const look = tool({
  name: "look",
  description: "Look at something.",
  parameters: {
    type: "object",
    properties: { at: { type: "string" } },
    required: ["at"],
    additionalProperties: false,
  },
  strict: true,
  execute: async (input) => `saw ${(input as { at: string }).at}`,
});

const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });

test("a run with parallel tools is kept whole, and the next run knows it", async () => {
  const conversation = fresh("agents");
  const session: Session = new QuireSession(conversation, quire, { userId: "me" });
  const client = new OpenAI({ baseURL: model.url, apiKey: "unused" });
  const agent = new Agent({ name: "A", model: new OpenAIChatCompletionsModel(client, "played"), tools: [look] });
  const called = ["a", "b"].map((at) => ({ name: "look", arguments: JSON.stringify({ at }) }));
  model.says(called, "Seen.", "Both.");
  assert.equal((await new Runner().run(agent, "Look.", { session })).finalOutput, "Seen.");

  const items = await session.getItems();
  const [call, result] = ["function_call", "function_call_result"];
  assert.deepEqual(items.map((item) => item.type), ["message", call, call, result, result, "message"]);
  const results = items.flatMap((item) => (item.type === "function_call_result" ? [[item.name, item.output]] : []));
  assert.deepEqual(results, ["saw a", "saw b"].map((text) => ["look", { type: "text", text }]));
  assert.deepEqual((await history(conversation)).map(({ role }) => role), ["user", "assistant", "tool", "tool", "assistant"]);

  assert.equal((await new Runner().run(agent, "And?", { session })).finalOutput, "Both.");
  const shown = model.asked.at(-1)?.messages.map(({ role }) => role);
  assert.deepEqual(shown, ["user", "assistant", "tool", "tool", "assistant", "user"]);
});

test("a session lists, limits, pops and clears", async () => {
  const session = new QuireSession(fresh("session"), quire, { userId: "me" });
  assert.deepEqual(await session.getItems(), []);
  assert.equal(await session.popItem(), undefined);
  const lines = Array.from({ length: 250 }, (_, n) => `line ${n}`);
  await session.addItems(lines.map(user));
  const items = await session.getItems();
  assert.deepEqual(items, lines.map(user));
  assert.deepEqual(await session.getItems(3), items.slice(-3));
  assert.deepEqual(await session.getItems(0), []);
  assert.deepEqual(await session.popItem(), items.at(-1));
  assert.equal((await session.getItems()).length, 249);
  await session.clearSession();
  assert.deepEqual(await session.getItems(), []);
  await session.clearSession();
});

test("another user's conversation is not found, nor changed", async () => {
  const conversation = fresh("private");
  await new QuireSession(conversation, quire, { userId: "me" }).addItems([user("My secret.")]);
  const stranger = new QuireSession(conversation, quire, { userId: "somebody 别人" });
  assert.deepEqual(await stranger.getItems(), []);
  await assert.rejects(stranger.addItems([user("Hello")]));
  await stranger.clearSession();
  assert.equal((await history(conversation)).length, 1);
});

test("parts of a message and of a result come back as they were", async () => {
  const session = new QuireSession(fresh("parts"), quire, { userId: "me" });
  const said: AgentInputItem[] = [
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "看图" },
        { type: "input_image", image: "https://example.com/a.png", detail: "low" },
        { type: "input_file", file: { url: "https://example.com/a.pdf" }, filename: "a.pdf" },
      ],
    },
    { type: "function_call", callId: "c1", name: "look", arguments: "{}", status: "completed" },
    { type: "function_call_result", callId: "c1", name: "look", status: "completed", output: { type: "text", text: "A cup." } },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "茶杯" }] },
  ];
  await session.addItems(said);
  assert.deepEqual(await session.getItems(), said);
});

test("what the model's API must see again unchanged is kept", async () => {
  const session = new QuireSession(fresh("opaque"), quire, { userId: "me" });
  const outcome = { type: "exit" as const, exitCode: 0 };
  const said: AgentInputItem[] = [
    user("Hello"),
    {
      type: "reasoning",
      content: [{ type: "input_text", text: "Which?" }],
      providerData: { encrypted_content: "sealed" },
    },
    { type: "hosted_tool_call", name: "web_search_call", status: "completed", providerData: { action: { query: "tea" } } },
    { type: "message", role: "assistant", status: "completed", content: [{ type: "refusal", refusal: "No." }] },
    user("Look."),
    { type: "shell_call", callId: "s1", action: { commands: ["ls"] }, status: "completed" },
    { type: "shell_call_output", callId: "s1", output: [{ stdout: "a", stderr: "", outcome }] },
  ];
  await session.addItems(said);
  assert.deepEqual(await session.getItems(), said);
  assert.deepEqual(await session.popItem(), said.at(-1));
  assert.deepEqual(await session.getItems(), said.slice(0, -1));
});
