import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { BudgetTooSmall, ConnectionFailed, Fork, Invalid, NotFound, Quire, Unauthorized, Unavailable } from "../src/index.js";
import { fresh, history, quire } from "./kit.js";

test("what is appended is in the window, and is found", async () => {
  const [conversation, user_id] = [fresh("tea/杭州"), fresh("me")];
  const appended = await quire.append(conversation, [{ role: "user", content: "I like longjing tea." }], { user_id });
  assert.equal(appended.messages[0]?.seq, 1);
  const window = await quire.context(conversation, { budget: 8000 });
  assert.equal(window.messages.at(-1)?.["content"], "I like longjing tea.");
  assert.ok(window.usage.total <= 8000);
  const found = await quire.search("longjing", { user_id });
  assert.equal(found.results[0]?.summary, "I like longjing tea.");
});

test("the same write with the same key is done once", async () => {
  const [conversation, key] = [fresh("once"), crypto.randomUUID()];
  const append = () => quire.append(conversation, [{ role: "user", content: "Hello" }], { user_id: "me", key });
  assert.deepEqual(await append(), await append());
  assert.equal((await history(conversation)).length, 1);
});

test("a list of any length is synced, and a contradiction is a Fork", async () => {
  const conversation = fresh("long");
  const list = Array.from({ length: 1500 }, (_, n) => ({ role: "user" as const, content: `line ${n}` }));
  await quire.sync(conversation, list, { user_id: "me" });
  const window = await quire.context(conversation, { budget: 1_000_000 });
  assert.equal(window.messages.at(-1)?.["content"], "line 1499");
  const changed = list.map((message, n) => (n === 3 ? { ...message, content: "changed" } : message));
  await assert.rejects(quire.sync(conversation, changed), (error) => error instanceof Fork && error.index === 3);
});

test("a recall tool answers, and a model's mistake is a result", async () => {
  const conversation = fresh("tool");
  await quire.append(conversation, [{ role: "user", content: "I like longjing." }], { user_id: "me" });
  assert.ok((await quire.tools()).window.includes("recall_page"));
  const page = await quire.callTool(conversation, "recall_page", { page: 1 });
  assert.equal(page.is_error, false);
  assert.match(page.content, /longjing/);
  assert.equal((await quire.callTool(conversation, "recall_page", { page: 99 })).is_error, true);
});

test("an error has a class of its own and says what is wrong", async () => {
  const conversation = fresh("small");
  await assert.rejects(quire.context(fresh("nobody's")), NotFound);
  await quire.append(conversation, [{ role: "user", content: "word ".repeat(500) }], { user_id: "me" });
  await assert.rejects(
    quire.context(conversation, { budget: 10 }),
    (error) => error instanceof BudgetTooSmall && error.minimumBudget > 10,
  );
  await assert.rejects(quire.context(conversation, { budget: 0 }), (error) => {
    return error instanceof Invalid && error.name === "Invalid" && /budget/.test(error.message);
  });
});

test("an erased conversation is gone", async () => {
  const conversation = fresh("gone");
  await quire.append(conversation, [{ role: "user", content: "Hello" }], { user_id: "me" });
  await quire.delete(conversation);
  await assert.rejects(quire.context(conversation), NotFound);
});

/** Runs against a server that answers with each status in turn, and returns the keys it was sent. */
async function keysSentTo(statuses: number[], use: (quire: Quire) => Promise<unknown>): Promise<unknown[]> {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    response.statusCode = statuses.shift() ?? 200;
    if (response.statusCode === 500) return void request.socket.destroy();
    return void response.setHeader("retry-after", "0").end("{}");
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  try {
    const retries = { times: 2, pauseSeconds: 0.001, pauseMaxSeconds: 1 };
    await use(new Quire(`http://127.0.0.1:${port}/`, { retries }));
  } finally {
    server.close();
    server.closeAllConnections();
  }
  return keys;
}

test("a lost connection and a 503 are retried with the same key", async () => {
  const keys = await keysSentTo([500, 503, 200], (service) => service.append("tea", []));
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.ok(keys[0]);
});

test("after the last retry the failure is thrown, and nothing else is retried", async () => {
  const rejects = (error: new (...args: never[]) => Error) => (service: Quire) =>
    assert.rejects(service.append("tea", []), (thrown) => thrown instanceof error);
  assert.equal((await keysSentTo([503, 503, 503], rejects(Unavailable))).length, 3);
  assert.equal((await keysSentTo([500, 500, 500], rejects(ConnectionFailed))).length, 3);
  assert.equal((await keysSentTo([404], rejects(NotFound))).length, 1);
});

test("a space has members and names, and a memory of it has versions", async () => {
  const space = fresh("team");
  await quire.createSpace({ id: space, members: { ann: "write" } });
  await quire.putMember(space, "bob", "read");
  assert.deepEqual((await quire.members(space)).items.map((one) => one.user_id), ["ann", "bob"]);
  assert.deepEqual((await quire.changeSpace(space, { participants: { Annie: "ann" } })).participants, { Annie: "ann" });
  const scope = `space:${space}`;
  const first = await quire.remember({ content: "We deploy on Mondays.", scope, memoryKey: "deploys", pinned: true });
  const second = await quire.remember({ content: "We deploy on Tuesdays.", scope, memoryKey: "deploys", pinned: true });
  assert.deepEqual((await quire.memories({ scope })).items.map((one) => one.memory_key), [second.memory_key]);
  assert.equal((await quire.versions(first.memory_key)).items.length, 2);
  assert.equal((await quire.changeMemory(second.memory_key, { pinned: false })).pinned, false);
  await quire.forget(second.memory_key);
  assert.ok((await quire.spaces({ user_id: "bob" })).items.some((one) => one.id === space));
  await quire.removeMember(space, "bob");
  assert.equal((await quire.deleteSpace(space)).erased["spaces"], 1);
});

test("a branch shares what was said, goes on by itself, and reports its result once", async () => {
  const [trunk, branch] = [fresh("trunk"), fresh("branch")];
  const said = (text: string) => [{ role: "user" as const, content: text }];
  await quire.append(trunk, said("first"), { user_id: "me" });
  await quire.append(trunk, said("second"));
  const made = await quire.fork(trunk, { at: 1, id: branch });
  assert.deepEqual([made.id, made.parent_id, made.forked_after], [branch, trunk, 1]);
  await quire.append(branch, said("elsewhere"));
  assert.deepEqual((await history(branch)).map((line) => line.content), ["first", "elsewhere"]);
  const listed = await quire.branches(trunk);
  assert.deepEqual([listed.trunk, listed.items.map((one) => one.id)], [trunk, [branch]]);
  const told = await quire.report(branch, { text: "No rain." });
  assert.deepEqual(await quire.report(branch, { text: "No rain." }), told);
  assert.deepEqual([told.conversation_id, told.seq], [trunk, 3]);
});

test("a served window is given back, and compared with the one before", async () => {
  const conversation = fresh("served");
  await quire.append(conversation, [{ role: "user", content: "first" }], { user_id: "me" });
  await quire.context(conversation, { budget: 8000 });
  await quire.append(conversation, [{ role: "assistant", content: "second" }]);
  const served = await quire.context(conversation, { budget: 8000 });
  const { items } = await quire.windows(conversation);
  assert.deepEqual(items.map((one) => one.id), [2, 1]);
  const again = await quire.window(conversation, 2);
  assert.ok(again.verified);
  assert.deepEqual(again.messages, served.messages);
  const changes = await quire.windowChanges(conversation, 2);
  assert.deepEqual([changes.from, changes.came_in[0]?.why], [1, "said"]);
});

test("events come as they happen, and end when they are aborted", async () => {
  const [conversation, control] = [fresh("told"), new AbortController()];
  const before = [];
  for await (const event of quire.events({ after: 0, wait: false })) before.push(event.seq);
  await quire.append(conversation, [{ role: "user", content: "Hello" }], { user_id: "me" });
  const told = [];
  for await (const event of quire.events({ after: before.at(-1) ?? 0, signal: control.signal })) {
    told.push(event);
    if (event.data["conversation_id"] === conversation) control.abort();
  }
  assert.equal(told.at(-1)?.type, "message.stored");
  assert.equal(told.at(-1)?.data["last_seq"], 1);
});

test("a stream that breaks off is resumed where it was, and a refusal is thrown", async () => {
  for (const wait of [true, false]) {
    const asked: (string | undefined)[] = [];
    const event = (seq: number) => `id: ${seq}\nevent: cut.made\ndata: ${JSON.stringify({ seq, text: "\u2028" })}\n\n`;
    const streams = ["retry: 1000\n\n", "", `${event(8)}data: {"seq": 9, "te`, "", "", event(9) + event(10)];
    const server = createServer((request, response) => {
      asked.push(request.url);
      const stream = streams.shift();
      if (stream === undefined) return void response.writeHead(401).end("{}");
      if (!stream) return void request.socket.destroy();
      response.writeHead(200, { "content-type": "text/event-stream", "last-event-id": "7" });
      response.write(stream, () => request.socket.destroySoon());
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    const retries = { times: 0, pauseSeconds: 0.001, pauseMaxSeconds: 1 };
    const seqs: number[] = [];
    try {
      await assert.rejects(async () => {
        for await (const { seq } of new Quire(`http://127.0.0.1:${port}`, { retries }).events({ wait })) seqs.push(seq);
      }, Unauthorized);
    } finally {
      server.close();
      server.closeAllConnections();
    }
    assert.deepEqual(seqs, [8, 9, 10]);
    const after = asked.map((url) => new URL(url ?? "", "http://q").searchParams.get("after"));
    assert.deepEqual(after, [null, "7", "7", "8", "8", "8", "10"]);
  }
});

test("usage, the audit log and webhooks are what an operator asks", async () => {
  const usage = await quire.usage({ by: "model", since: "2026-01-01" });
  assert.deepEqual([usage.by, usage.since, usage.next_cursor], ["model", "2026-01-01", null]);
  assert.deepEqual((await quire.audit({ action: "erase", limit: 1 })).items, []);
  const { secret, ...made } = await quire.addWebhook({ url: "https://example.com/quire", types: ["job.dead"] });
  assert.match(secret ?? "", /^whsec_/);
  assert.deepEqual((await quire.webhooks()).items, [made]);
  assert.deepEqual(await quire.deleteWebhook(made.id), made);
  await assert.rejects(quire.deleteWebhook(made.id), NotFound);
});
