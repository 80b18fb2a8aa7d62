// A language-model middleware of the AI SDK: the model sees Quire's window of a conversation.
//
//   const memory = new QuireMemory(new Quire(), { conversation: "tea", userId: "me", budget: 8000 });
//   const model = wrapLanguageModel({ model: openai("gpt-5"), middleware: memory.middleware });
//   await generateText({ model, prompt: "Which tea?", tools: await memory.tools(), stopWhen: isStepCount(5) });
//
// Before each model call the prompt's messages are synced and the window takes their place; the answer is stored
// before the call ends. Send only what is new, or your whole list every time: the window has the whole conversation.
// Memories that answer the newest user message come in by themselves. What the model's API counted is reported with the
// next sync, so that the budget holds in the model's own tokens.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FunctionTool,
  LanguageModelV4Middleware,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

import type { Message, Quire, Window } from "./client.js";
import { QuireError } from "./errors.js";
import { type Said, answered, asPrompt, divided, newestTurn, saidIn } from "./prompt.js";

export interface MemoryOptions {
  conversation: string;
  userId: string;
  /** Tokens, everything included; without it Quire goes by the conversation's own. */
  budget?: number;
  /** With "off" no memories come in by themselves; else the conversation's setting counts. */
  recall?: "auto" | "off";
  /** With false the model is given the prompt as it is while Quire is unavailable. */
  required?: boolean;
}

/** A recall tool for `generateText`: its schema follows Standard JSON Schema. */
export interface RecallTool {
  description: string;
  inputSchema: {
    "~standard": {
      version: 1;
      vendor: string;
      validate: (value: unknown) => { value: Record<string, unknown> };
      jsonSchema: { input: () => Record<string, unknown>; output: () => Record<string, unknown> };
    };
  };
  execute: (input: Record<string, unknown>) => Promise<string>;
}

interface Narrowed {
  params: LanguageModelV4CallOptions;
  /** The window's tokens; undefined if the model is asked without a window. */
  windowTokens: number | undefined;
}

/** The memory of one conversation. */
export class QuireMemory {
  readonly #quire: Quire;
  readonly #options: Omit<MemoryOptions, "budget"> & { required: boolean; budget: number | null };
  #recallTools = new Set<string>();
  #counted: { window_tokens: number; prompt_tokens: number } | null = null;

  /** For `wrapLanguageModel`. */
  readonly middleware: LanguageModelV4Middleware = {
    specificationVersion: "v4",
    wrapGenerate: async ({ params, model }) => {
      const narrowed = await this.#narrow(params);
      const result = await model.doGenerate(narrowed.params);
      await this.#keep(result.content, result.usage, narrowed);
      return result;
    },
    wrapStream: async ({ params, model }) => {
      const narrowed = await this.#narrow(params);
      const result = await model.doStream(narrowed.params);
      return { ...result, stream: result.stream.pipeThrough(this.#keeping(narrowed)) };
    },
  };

  constructor(quire: Quire, options: MemoryOptions) {
    this.#quire = quire;
    this.#options = { budget: null, required: true, ...options };
  }

  /**
   * Return the recall tools. The model is offered them only if you hand them to `generateText`. There are none while
   * Quire is unavailable and not required.
   */
  async tools(): Promise<Record<string, RecallTool>> {
    const { tools, window } = await this.#quire.tools().catch((error: unknown) => {
      this.#excuse(error);
      return { tools: [], window: [] as string[] };
    });
    const offered = tools.map(functionOf).filter(({ name }) => window.includes(name));
    this.#recallTools = new Set(offered.map(({ name }) => name));
    return Object.fromEntries(
      offered.map(({ name, description, parameters }) => [
        name,
        { description, inputSchema: schemaOf(parameters), execute: (input) => this.#recall(name, input) },
      ]),
    );
  }

  async #recall(name: string, input: Record<string, unknown>): Promise<string> {
    return (await this.#quire.callTool(this.#options.conversation, name, input)).content;
  }

  /** Store what is new in the prompt, and return the call with the window in the prompt's place. */
  async #narrow(params: LanguageModelV4CallOptions): Promise<Narrowed> {
    const { system, rest } = divided(params.prompt);
    const said = saidIn(rest);
    try {
      await this.#sync(said);
      const window = await this.#window(system, this.#ownTools(params));
      return { params: this.#withWindow(params, window, newestTurn(said)), windowTokens: window.usage.total };
    } catch (error) {
      this.#excuse(error);
      return { params, windowTokens: undefined };
    }
  }

  /** A list that ends before the stored end asks again: its newest turn is said once more. */
  async #sync(said: readonly Said[]): Promise<void> {
    const { conversation, userId: user_id } = this.#options;
    const [reported_usage, messages] = [this.#counted, said.map(({ message }) => message)];
    const synced = await this.#quire.sync(conversation, messages, { user_id, on_fork: "append", reported_usage });
    this.#counted = null;
    if (synced.ahead > 0) {
      await this.#quire.append(conversation, newestTurn(said).map(({ message }) => message));
    }
  }

  #window(system: string | null, tools: LanguageModelV4FunctionTool[]): Promise<Window> {
    const { conversation, budget, recall } = this.#options;
    return this.#quire.context(conversation, {
      budget,
      system,
      tools: tools.map(({ name, description, inputSchema: parameters }) => {
        return { type: "function", function: { name, description, parameters } };
      }),
      ...(recall && { recall }),
    });
  }

  #withWindow(
    params: LanguageModelV4CallOptions,
    window: Window,
    turn: readonly Said[],
  ): LanguageModelV4CallOptions {
    const others = (params.tools ?? []).filter(({ name }) => !this.#recallTools.has(name));
    const recall = window.tools
      .map(functionOf)
      .filter(({ name }) => this.#recallTools.has(name))
      .map(({ name, description, parameters }) => {
        return { type: "function" as const, name, description, inputSchema: parameters };
      });
    const tools = [...others, ...recall];
    const prompt = asPrompt(window.messages as Message[], turn);
    return { ...params, prompt, ...(tools.length && { tools }) };
  }

  #ownTools(params: LanguageModelV4CallOptions): LanguageModelV4FunctionTool[] {
    return (params.tools ?? []).filter(
      (tool): tool is LanguageModelV4FunctionTool => tool.type === "function" && !this.#recallTools.has(tool.name),
    );
  }

  /** Store the answer, and remember what the model's API counted. */
  async #keep(content: LanguageModelV4Content[], usage: LanguageModelV4Usage, narrowed: Narrowed): Promise<void> {
    const prompt_tokens = usage.inputTokens.total;
    if (narrowed.windowTokens !== undefined && prompt_tokens) {
      this.#counted = { window_tokens: narrowed.windowTokens, prompt_tokens };
    }
    const message = answered(content);
    if (!message || narrowed.windowTokens === undefined) return;
    try {
      await this.#quire.append(this.#options.conversation, [message]);
    } catch (error) {
      this.#excuse(error);
    }
  }

  /** Pass a stream on, and store its answer before it ends. One that breaks off is not stored. */
  #keeping(narrowed: Narrowed): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
    const content: LanguageModelV4Content[] = [];
    let usage: LanguageModelV4Usage | undefined;
    return new TransformStream({
      transform: (part, controller) => {
        if (part.type === "text-delta") content.push({ type: "text", text: part.delta });
        else if (part.type === "tool-call") content.push(part);
        else if (part.type === "finish") usage = part.usage;
        controller.enqueue(part);
      },
      flush: async () => {
        if (usage) await this.#keep(content, usage, narrowed);
      },
    });
  }

  #excuse(error: unknown): void {
    if (this.#options.required || !(error instanceof QuireError)) throw error;
    console.warn(`Quire is not available, so the model is given the prompt as it is: ${error.message}`);
  }
}

interface FunctionSchema {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

/** The function of a tool in OpenAI form. */
function functionOf(tool: Record<string, unknown>): FunctionSchema {
  return tool["function"] as FunctionSchema;
}

function schemaOf(parameters: Record<string, unknown>): RecallTool["inputSchema"] {
  const validate = (value: unknown) => ({ value: value as Record<string, unknown> }); // Quire judges the arguments
  const jsonSchema = { input: () => parameters, output: () => parameters };
  return { "~standard": { version: 1, vendor: "quire", validate, jsonSchema } };
}
