// The TypeScript client of Quire, memory as a service for LLM agents.
export { Quire } from "./client.js";
export type * from "./client.js";
export {
  BudgetTooSmall,
  Conflict,
  ConnectionFailed,
  Fork,
  Invalid,
  NotFound,
  Problem,
  QuireError,
  RateLimited,
  Unauthorized,
  Unavailable,
} from "./errors.js";
export type { Retries } from "./retries.js";
