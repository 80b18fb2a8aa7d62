// A tool-calling agent with Quire as its memory: node agent.mjs CONVERSATION "what you want". Needs Node 18 only.
// Set QUIRE_URL, OPENAI_BASE_URL, OPENAI_API_KEY and MODEL in the environment.
import { readFile, realpath } from "node:fs/promises";
import { sep } from "node:path";

const { argv, env, exit } = process;
if (argv.length < 4) {
  console.error('usage: node agent.mjs CONVERSATION "what you want"; with OPENAI_BASE_URL, OPENAI_API_KEY and MODEL set');
  exit(1);
}

const QUIRE = env.QUIRE_URL ?? "http://127.0.0.1:8000";
const key = { authorization: `Bearer ${env.OPENAI_API_KEY}` };
const BUDGET = 8000;
const STEPS_MAX = 20;
const OWN_TOOLS = [{ type: "function", function: {
  name: "read_file", description: "Read a text file of the folder the agent was started in.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
} }];

async function json(url, body, headers = {}) {
  const sent = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
  const answer = await fetch(url, body && sent);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return answer.json();
}

// Returns the tool message for a call. Quire runs its own tools, the agent runs the others.
async function run(conversation, recallTools, call) {
  const { name, arguments: text } = call.function;
  let content;
  try {
    const given = JSON.parse(text || "{}");
    if (recallTools.has(name)) {
      ({ content } = await json(`${conversation}/tools/${name}`, { arguments: given }));
    } else {
      const path = await realpath(given.path);
      content = path.startsWith(process.cwd() + sep) ? await readFile(path, "utf8") : "There is no such file.";
    }
  } catch (error) {
    content = `That did not work: ${error.message}`;
  }
  return { role: "tool", tool_call_id: call.id, content };
}

async function main(conversationId, request) {
  const conversation = `${QUIRE}/conversations/${encodeURIComponent(conversationId)}`;
  const recallTools = new Set((await json(`${QUIRE}/tools`)).tools.map((tool) => tool.function.name));
  let fresh = [{ role: "user", content: request }];
  for (let step = 0; step < STEPS_MAX; step++) {
    await json(`${conversation}/messages`, { user_id: "example", messages: fresh });
    if (fresh.at(-1).role === "assistant") return console.log(fresh.at(-1).content);
    const { messages, tools } = await json(`${conversation}/context`, { budget: BUDGET, tools: OWN_TOOLS });
    const asked = { model: env.MODEL, messages, tools };
    const answer = await json(`${env.OPENAI_BASE_URL}/chat/completions`, asked, key);
    const reply = answer.choices[0].message;
    const results = (reply.tool_calls ?? []).map((call) => run(conversation, recallTools, call));
    fresh = [reply, ...await Promise.all(results)];
  }
  throw new Error(`No answer after ${STEPS_MAX} steps.`);
}

await main(...argv.slice(2));
