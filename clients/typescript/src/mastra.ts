// A processor of Mastra: the agent's model sees Quire's window of the thread.
//
//   const quire = new QuireProcessor(new Quire(), { budget: 8000 });
//   const agent = new Agent({ id: "tea", name: "Tea", instructions: "Be brief.", model, inputProcessors: [quire] });
//   await agent.generate("Which tea?", { memory: { thread: "tea", resource: "me" } });
//
// The thread is the conversation and the resource is its user, so one agent serves all users. In each step the processor
// wraps the step's model with the middleware of `ai-sdk.ts`: before the call the prompt's messages are synced and the
// window takes their place, the answer is stored before the call ends, and the recall tools are offered. Mastra's own
// memory is not needed.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Middleware } from "@ai-sdk/provider";
import type { ProcessInputStepArgs, ProcessInputStepResult, Processor } from "@mastra/core/processors";

import { type MemoryOptions, QuireMemory, type RecallTool } from "./ai-sdk.js";
import type { Quire } from "./client.js";

export type ProcessorOptions = Omit<MemoryOptions, "conversation" | "userId">;

type Model = ProcessInputStepArgs["model"];

/** What the steps of one run share. */
interface Run {
  memory: QuireMemory;
  tools: Record<string, RecallTool>;
}

/** For an agent's `inputProcessors`. Every call of the agent names its `memory.thread` and `memory.resource`. */
export class QuireProcessor implements Processor<"quire"> {
  readonly id = "quire";
  readonly #quire: Quire;
  readonly #options: ProcessorOptions;

  constructor(quire: Quire, options: ProcessorOptions = {}) {
    this.#quire = quire;
    this.#options = options;
  }

  /** Return the step's model with the thread's memory, and the step's tools with the recall tools. */
  async processInputStep({ model, tools, state, messageList }: ProcessInputStepArgs): Promise<ProcessInputStepResult> {
    const run = (state["run"] ??= await this.#begin(messageList)) as Run;
    return { model: wrapped(model, run.memory.middleware), tools: { ...tools, ...run.tools } };
  }

  /** The thread and the resource are those of the call: a message can claim another's. */
  async #begin(list: ProcessInputStepArgs["messageList"]): Promise<Run> {
    const { threadId, resourceId } = list.serialize().memoryInfo ?? {};
    if (!threadId || !resourceId) {
      throw new TypeError("Quire needs `memory: { thread, resource }` in the agent's call: the conversation and its user.");
    }
    const memory = new QuireMemory(this.#quire, { conversation: threadId, userId: resourceId, ...this.#options });
    return { memory, tools: await memory.tools() };
  }
}

/** Return the model with both of its calls led through the middleware. */
function wrapped(own: Model, { wrapGenerate, wrapStream }: LanguageModelV4Middleware): Model {
  const model = own as unknown as LanguageModelV4; // Mastra has a copy of these types, and adds a stream to `doGenerate`
  const call = (params: LanguageModelV4CallOptions) => ({
    params,
    model,
    doGenerate: () => model.doGenerate(params),
    doStream: () => model.doStream(params),
  });
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: (params: LanguageModelV4CallOptions) => wrapGenerate?.(call(params)) ?? model.doGenerate(params),
    doStream: (params: LanguageModelV4CallOptions) => wrapStream?.(call(params)) ?? model.doStream(params),
  } as unknown as Model;
}
