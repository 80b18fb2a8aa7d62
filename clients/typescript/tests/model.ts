// A played model: a server of Chat Completions on loopback, which says what it is told to and keeps what it was asked.
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  messages: { role: string; content: unknown; tool_calls?: { id: string; function: { name: string } }[] }[];
  tools?: { function: { name: string } }[];
  stream?: boolean;
}

export type Reply = string | { name: string; arguments: string }[];

export class PlayedModel {
  readonly asked: Asked[] = [];
  readonly #replies: Reply[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #failures = 0;
  url = "";

  static async start(): Promise<PlayedModel> {
    const model = new PlayedModel();
    await new Promise<void>((listening) => model.#server.listen(0, "127.0.0.1", listening));
    model.url = `http://127.0.0.1:${(model.#server.address() as AddressInfo).port}/v1`;
    return model;
  }

  says(...replies: Reply[]): void {
    this.#replies.push(...replies);
  }

  /** Answer the next request with an error that is not worth a retry. */
  fails(): void {
    this.#failures++;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await textOf(request)) as Asked;
    this.asked.push(asked);
    if (this.#failures > 0) {
      this.#failures--;
      response.statusCode = 400;
      response.end('{"error": {"message": "Refused, as scripted."}}');
      return;
    }
    const message = this.#message(this.#replies.shift() ?? "Nothing was scripted.");
    const finish_reason = "tool_calls" in message ? "tool_calls" : "stop";
    const head = { id: "chatcmpl-1", created: 0, model: "played" };
    const usage = { prompt_tokens: 50, completion_tokens: 5, total_tokens: 55 };
    if (!asked.stream) {
      response.setHeader("content-type", "application/json");
      const choices = [{ index: 0, message, finish_reason }];
      response.end(JSON.stringify({ ...head, object: "chat.completion", choices, usage }));
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const chunk = (choices: unknown[], more: object = {}) =>
      response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more })}\n\n`);
    chunk([{ index: 0, delta: message, finish_reason: null }]);
    chunk([{ index: 0, delta: {}, finish_reason }], { usage });
    response.end("data: [DONE]\n\n");
  }

  #message(reply: Reply): object {
    if (typeof reply === "string") return { role: "assistant", content: reply };
    const tool_calls = reply.map((called, index) => {
      return { index, id: `call_${this.asked.length}_${index}`, type: "function", function: called };
    });
    return { role: "assistant", content: null, tool_calls };
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
