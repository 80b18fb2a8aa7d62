import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { type ModelMessage, generateText, isStepCount, jsonSchema, streamText, tool, wrapLanguageModel } from "ai";

import { type MemoryOptions, QuireMemory } from "../src/ai-sdk.js";
import { ConnectionFailed, Quire } from "../src/index.js";
import { fresh, history, quire } from "./kit.js";
import { type Asked, PlayedModel } from "./model.js";

let played: PlayedModel;
before(async () => {
  played = await PlayedModel.start();
});
after(() => played.stop());

function remembering(conversation: string, more: Partial<MemoryOptions> = {}, service: Quire = quire) {
  const provider = createOpenAI({ baseURL: played.url, apiKey: "unused" });
  const memory = new QuireMemory(service, { conversation, userId: fresh("me"), budget: 8000, ...more });
  return { memory, model: wrapLanguageModel({ model: provider.chat("played"), middleware: memory.middleware }) };
}

const look = tool({
  description: "Look at something.",
  inputSchema: jsonSchema<{ at: string }>({ type: "object", properties: { at: { type: "string" } } }),
  execute: async ({ at }) => `saw ${at}`,
});

const shown = (asked: Asked | undefined) =>
  (asked?.messages ?? []).filter(({ role }) => role !== "system").map(({ content }) => content);
const roles = async (conversation: string) => (await history(conversation)).map(({ role }) => role);

test("a call that says only what is new has the whole conversation before it", async () => {
  const conversation = fresh("turns");
  const { model } = remembering(conversation);
  played.says("Noted.", "Longjing.");
  await generateText({ model, prompt: "I like longjing.", system: "Be brief." });
  const { text } = await generateText({ model, prompt: "Which tea?", system: "Be brief." });
  assert.equal(text, "Longjing.");
  assert.deepEqual(shown(played.asked.at(-1)), ["I like longjing.", "Noted.", "Which tea?"]);
  assert.match(String(played.asked.at(-1)?.messages[0]?.content), /Be brief\./);
  assert.deepEqual(await roles(conversation), ["user", "assistant", "user", "assistant"]);
});

test("the same words said twice are two turns", async () => {
  const conversation = fresh("continue");
  const { model } = remembering(conversation);
  played.says("One.", "Two.", "Three.");
  for (const _ of ["first", "second", "third"]) await generateText({ model, prompt: "Continue." });
  assert.deepEqual(shown(played.asked.at(-1)), ["Continue.", "One.", "Continue.", "Two.", "Continue."]);
  assert.equal((await history(conversation)).length, 6);
});

test("a whole list is stored once", async () => {
  const conversation = fresh("list");
  const { model } = remembering(conversation);
  const messages: ModelMessage[] = [];
  for (const [question, answer] of [["Hello", "Hi."], ["Which tea?", "Longjing."], ["Why?", "It is green."]]) {
    messages.push({ role: "user", content: question as string });
    played.says(answer as string);
    messages.push(...(await generateText({ model, messages })).response.messages);
  }
  assert.deepEqual((await history(conversation)).map(({ content }) => content), [
    "Hello", "Hi.", "Which tea?", "Longjing.", "Why?", "It is green.",
  ]);
});

test("a list that is asked again is another turn", async () => {
  const conversation = fresh("again");
  const { model } = remembering(conversation);
  const messages: ModelMessage[] = [{ role: "user", content: "Which tea?" }];
  played.says("Longjing.", "Biluochun.", "It is green.");
  await generateText({ model, messages });
  await generateText({ model, messages });
  messages.push({ role: "assistant", content: "Biluochun." }, { role: "user", content: "Why?" });
  await generateText({ model, messages });
  const expected = ["Which tea?", "Longjing.", "Which tea?", "Biluochun.", "Why?"];
  assert.deepEqual(shown(played.asked.at(-1)), expected);
  assert.deepEqual((await history(conversation)).map(({ content }) => content), [...expected, "It is green."]);
});

test("a file is seen in its turn, and named afterwards", async () => {
  const conversation = fresh("file");
  const { model } = remembering(conversation);
  played.says("A cup.", "Blue.");
  const file = { type: "file" as const, mediaType: "image/png", data: "iVBORw0KGgo=" };
  await generateText({ model, messages: [{ role: "user", content: [{ type: "text", text: "What?" }, file] }] });
  assert.match(JSON.stringify(shown(played.asked.at(-1))[0]), /base64,iVBORw0KGgo=/);
  await generateText({ model, prompt: "Its colour?" });
  assert.equal(shown(played.asked.at(-1))[0], "What?\n[image/png]");
});

test("parallel calls stay with their results, and recall tools are run by the loop", async () => {
  const conversation = fresh("tools");
  const { memory, model } = remembering(conversation);
  played.says(
    [{ name: "look", arguments: '{ "at": "a" }' }, { name: "look", arguments: '{"at":"b"}' }],
    [{ name: "recall_page", arguments: '{"page": 1}' }],
    "Seen.",
  );
  const tools = { look, ...(await memory.tools()) };
  const { text } = await generateText({ model, prompt: "Look.", tools, stopWhen: isStepCount(5) });
  assert.equal(text, "Seen.");
  const lines = await history(conversation);
  const expected = ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"];
  assert.deepEqual(lines.map(({ role }) => role), expected);
  assert.deepEqual(lines.slice(2, 4).map(({ content }) => content), ["saw a", "saw b"]);
  assert.match(String(lines[5]?.content), /Look\./);
  const [first, last] = [played.asked.at(-3), played.asked.at(-1)];
  assert.deepEqual(last?.messages.filter(({ role }) => role !== "system").map(({ role }) => role), expected.slice(0, 6));
  const names = first?.tools?.map((one) => one.function.name) ?? [];
  assert.ok(names.includes("recall_page") && names.filter((name) => name === "look").length === 1);
});

test("without the recall tools the model is offered none", async () => {
  const { model } = remembering(fresh("no tools"));
  played.says("Hi.");
  await generateText({ model, prompt: "Hello" });
  assert.equal(played.asked.at(-1)?.tools, undefined);
});

test("a streamed answer is stored when the stream ends", async () => {
  const conversation = fresh("stream");
  const { model } = remembering(conversation);
  played.says([{ name: "look", arguments: '{"at":"龙井"}' }], "看到了。");
  const result = streamText({ model, prompt: "看龙井", tools: { look }, stopWhen: isStepCount(3) });
  assert.equal(await result.text, "看到了。");
  const lines = await history(conversation);
  assert.deepEqual(lines.map(({ role }) => role), ["user", "assistant", "tool", "assistant"]);
  assert.equal(lines.at(-1)?.content, "看到了。");
});

test("what the model's API counted is reported with the next call", async () => {
  const conversation = fresh("usage");
  const bodies: string[] = [];
  const send = Quire.prototype.send;
  class Watched extends Quire {
    override send<Answer>(...call: Parameters<typeof send>): Promise<Answer> {
      bodies.push(JSON.stringify(call[0].body));
      return super.send<Answer>(...call);
    }
  }
  const { model } = remembering(conversation, {}, new Watched(process.env["QUIRE_URL"]));
  played.says("One.", "Two.");
  await generateText({ model, prompt: "Hello" });
  await generateText({ model, prompt: "And?" });
  const synced = bodies.filter((body) => body.includes("on_fork"));
  assert.match(String(synced[1]), /"reported_usage":\{"window_tokens":\d+,"prompt_tokens":50\}/);
});

test("without Quire a call fails, or goes on without memory if that is allowed", async () => {
  const retries = { times: 0, pauseSeconds: 0, pauseMaxSeconds: 0 };
  const stopped = await PlayedModel.start();
  stopped.stop();
  const away = new Quire(stopped.url, { retries });
  const strict = remembering(fresh("away"), {}, away);
  await assert.rejects(generateText({ model: strict.model, prompt: "Hello", maxRetries: 0 }), ConnectionFailed);
  const lenient = remembering(fresh("away"), { required: false }, away);
  played.says("Hi.");
  assert.equal((await generateText({ model: lenient.model, prompt: "Hello" })).text, "Hi.");
});

test("what the user said in another conversation comes in by itself, unless that is turned off", async () => {
  const userId = fresh("me");
  played.says("Noted.", "Longjing.", "Which one?");
  await generateText({ model: remembering(fresh("first"), { userId }).model, prompt: "My favourite tea is longjing." });
  await generateText({ model: remembering(fresh("second"), { userId }).model, prompt: "What is my favourite tea?" });
  assert.match(JSON.stringify(shown(played.asked.at(-1))), /longjing/);
  const { model } = remembering(fresh("third"), { userId, recall: "off" });
  await generateText({ model, prompt: "What is my favourite tea?" });
  assert.deepEqual(shown(played.asked.at(-1)), ["What is my favourite tea?"]);
});
