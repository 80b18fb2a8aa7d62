// The event stream: where its reader is, and when it is opened again.
import type { components } from "./api.js";
import { type Retries, pauseBeforeNext } from "./retries.js";

/** Something that happened; `data` holds ids and numbers only. */
export interface QuireEvent {
  id: string;
  /** Counts a tenant's events, without gaps: resume after the last one you have. */
  seq: number;
  type: components["schemas"]["Webhook"]["types"][number];
  timestamp: string;
  data: Record<string, string | number>;
}

export interface EventOptions {
  /** A sequence number; by default from now on. */
  after?: number | undefined;
  /** false: until all that is stored was read. */
  wait?: boolean;
  /** Ends the events. */
  signal?: AbortSignal | undefined;
}

/** A stream that says nothing for so long is lost: the service says every few seconds that it is still there. */
export const QUIET_SECONDS = 60;
const FOREVER = 1000;

/** A reader's place in the stream. It is opened as `Retries` says; once open, it is opened again without end. */
export class Following {
  #after: number | undefined;
  #failures = 0;
  #retries: Retries;
  readonly #wait: boolean;

  constructor({ after, wait = true }: EventOptions, retries: Retries) {
    this.#after = after;
    this.#retries = retries;
    this.#wait = wait;
  }

  /** What to ask for next. */
  get query(): { after: number | undefined; wait: string } {
    return { after: this.#after, wait: String(this.#wait) };
  }

  /** Yield the events of a stream that is open. Where it begins is kept, for one that breaks off before its first. */
  async *read(answer: Response, touched: () => void): AsyncGenerator<QuireEvent, void, void> {
    const beginning = answer.headers.get("last-event-id");
    if (beginning !== null) this.#after ??= Number(beginning);
    this.#failures = 0;
    this.#retries = { ...this.#retries, times: FOREVER };
    const decoder = new TextDecoder();
    let rest = "";
    for await (const piece of answer.body ?? []) {
      touched();
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.filter((one) => one.startsWith("data:"))) {
        const event = JSON.parse(line.slice(5)) as QuireEvent;
        this.#after = event.seq;
        yield event;
      }
    }
  }

  /** Seconds to wait before the stream is opened again; undefined to give up. No answer: it broke off, or ended. */
  pause(answer: Response | undefined): number | undefined {
    this.#failures = Math.min(this.#failures + 1, FOREVER);
    return pauseBeforeNext(this.#retries, this.#failures, answer);
  }
}

/** Aborts when the caller does, or when nothing has touched it for a time. */
export class Quiet {
  readonly #control = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #abort = () => this.#control.abort();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    caller?.addEventListener("abort", this.#abort);
    if (caller?.aborted) this.#abort();
    this.touch();
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  readonly touch = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#abort, QUIET_SECONDS * 1000);
  };

  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#abort);
  }
}

/** Wait, or until the caller aborts. */
export function waited(seconds: number, caller: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      caller?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    caller?.addEventListener("abort", done);
    if (caller?.aborted) done();
  });
}
