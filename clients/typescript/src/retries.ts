// When requests are retried, and after what pause.

const STATUSES = new Set([429, 502, 503, 504]);

/** How often and how patiently. A `Retry-After` longer than `pauseMaxSeconds` is not waited for. */
export interface Retries {
  times: number;
  /** Before the first retry; twice as long before each further one, less up to half of it by chance. */
  pauseSeconds: number;
  pauseMaxSeconds: number;
}

export const RETRIES: Retries = { times: 3, pauseSeconds: 0.25, pauseMaxSeconds: 30 };

/** Return the seconds to wait after the n-th failure; undefined to give up. No answer: the connection failed. */
export function pauseBeforeNext(
  retries: Retries,
  failures: number,
  answer: Response | undefined,
): number | undefined {
  if (failures > retries.times || (answer && !STATUSES.has(answer.status))) return undefined;
  const wanted = answer?.headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(wanted)) return Number(wanted) <= retries.pauseMaxSeconds ? Number(wanted) : undefined;
  const pause = Math.min(retries.pauseSeconds * 2 ** (failures - 1), retries.pauseMaxSeconds);
  return pause * (0.5 + Math.random() / 2);
}
