import OpenAI from "openai";
const [, , url] = process.argv;
const out = {};
const make = (model, conversation) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0, defaultHeaders: { "X-Quire-Conversation": conversation } });
const parameters = { type: "object", properties: { at: { type: "string" } }, required: ["at"], additionalProperties: false };
for (const model of ["fake", "claude-fake", "gpt-fake"]) {
  const client = make(model, `openai-${model}`);
  // chat, with the runner that calls tools itself
  const runner = client.chat.completions.runTools({ model, stream: true, messages: [{ role: "user", content: "Look." }],
    tools: [{ type: "function", function: { name: "look", description: "Look at a place.", parameters, parse: JSON.parse, function: async ({ at }) => `saw ${at}` } }] });
  const chat = await runner.finalContent();
  // responses: whole, streamed, by WebSocket
  const responses = make(model, `openai-${model}-responses`);
  const tools = [{ type: "function", name: "look", parameters, strict: true }];
  const first = await responses.responses.create({ model, input: "Look.", tools });
  const call = first.output.find((item) => item.type === "function_call");
  const stream = responses.responses.stream({ model, tools, previous_response_id: first.id, input: [{ type: "function_call_output", call_id: call.call_id, output: "saw a" }] });
  const kinds = new Set(); stream.on("event", (event) => kinds.add(event.type));
  const second = await stream.finalResponse();
  const counted = await responses.responses.inputTokens.count({ model, input: "Which tea did I like?" });
  out[model] = { chat, kinds: [...kinds].filter((kind) => !kind.startsWith("response.")), text: second.output_text, counted: counted.input_tokens, kept: (await responses.responses.retrieve(second.id)).output_text };
}
out.models = (await make("x", "m").models.list()).data.length;
out.embedded = (await make("x", "m").embeddings.create({ model: "nano-e5", input: "tea" }).catch((error) => error)).status ?? "ok";
out.refused = await make("fake", "r").chat.completions.create({ model: "fake", n: 2, messages: [] }).catch((error) => [error.constructor.name, error.status, error.param]);
console.log(JSON.stringify(out));
