// All errors, drawn once.
//
// QuireError
// ├── ConnectionFailed        the service could not be reached, or broke off
// └── Problem                 it answered with an error: status, code, detail, errors, requestId, extra
//     ├── Unauthorized        401, 403
//     ├── NotFound            404
//     ├── Conflict            409
//     │   └── Fork                 a synced list contradicts what is stored: index, seq
//     ├── Invalid             400, 422
//     │   └── BudgetTooSmall       minimumBudget is the smallest that works
//     ├── RateLimited         429, and retrying did not help
//     └── Unavailable         503, and retrying did not help

type Json = Record<string, unknown>;

const KNOWN = new Set(["type", "title", "status", "detail", "errors", "request_id"]);

/** Base of all errors of this package. */
export class QuireError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service could not be reached, or the connection broke. */
export class ConnectionFailed extends QuireError {}

/** An error response, usually `application/problem+json`. */
export class Problem extends QuireError {
  /** The problem's type without its prefix, such as `fork`. */
  readonly code: string;
  readonly detail: string;
  /** What is wrong with the request: `loc` is a path into it. */
  readonly errors: { loc: (string | number)[]; msg: string }[];
  readonly requestId: string | undefined;
  /** The problem's other members. */
  readonly extra: Json;

  constructor(
    readonly status: number,
    problem: Json,
  ) {
    const code = codeOf(problem);
    const detail = String(problem["detail"] ?? "");
    const errors = (problem["errors"] ?? []) as Problem["errors"];
    const places = errors.slice(0, 3).map(({ loc, msg }) => `${loc.join(".")} ${msg}`);
    super(`${status} ${code || problem["title"]}: ${detail}${places.length ? ` (${places.join("; ")})` : ""}`);
    this.code = code;
    this.detail = detail;
    this.errors = errors;
    this.requestId = problem["request_id"] as string | undefined;
    this.extra = Object.fromEntries(Object.entries(problem).filter(([name]) => !KNOWN.has(name)));
  }
}

/** The key is missing, invalid or lacks a right. */
export class Unauthorized extends Problem {}

/** Nothing has that name in the key's scope. */
export class NotFound extends Problem {}

/** The state of the resource does not allow this. */
export class Conflict extends Problem {}

/** A synced list contradicts what is stored. Nothing was stored. */
export class Fork extends Conflict {
  /** Index of the list's first differing message. */
  get index(): number {
    return Number(this.extra["index"]);
  }

  /** `seq` of the stored message that it differs from. */
  get seq(): number {
    return Number(this.extra["seq"]);
  }
}

/** A value of the request is missing, unknown or out of range. */
export class Invalid extends Problem {}

/** The fixed parts and the newest user message alone are over the budget. */
export class BudgetTooSmall extends Invalid {
  /** The smallest budget that works. */
  get minimumBudget(): number {
    return Number(this.extra["minimum_budget"]);
  }
}

/** Too many requests. */
export class RateLimited extends Problem {}

/** The service or its database is unavailable. */
export class Unavailable extends Problem {}

const BY_CODE: Record<string, typeof Problem> = { fork: Fork, "budget-too-small": BudgetTooSmall };
const BY_STATUS: Record<number, typeof Problem> = {
  400: Invalid,
  401: Unauthorized,
  403: Unauthorized,
  404: NotFound,
  409: Conflict,
  422: Invalid,
  429: RateLimited,
  503: Unavailable,
};

/** Return the error for a response: a problem, or under /v1 an error in OpenAI's form. */
export function problemOf(status: number, answer: unknown): Problem {
  const problem = standard(typeof answer === "object" && answer !== null ? (answer as Json) : {});
  return new (BY_CODE[codeOf(problem)] ?? BY_STATUS[status] ?? Problem)(status, problem);
}

function standard(problem: Json): Json {
  const error = problem["error"];
  if (typeof error !== "object" || error === null) return problem;
  const { code, type, message } = error as Json;
  return { type: String(code ?? "").replaceAll("_", "-"), title: type, detail: message };
}

function codeOf(problem: Json): string {
  return String(problem["type"] ?? "").split(":").at(-1) ?? "";
}
