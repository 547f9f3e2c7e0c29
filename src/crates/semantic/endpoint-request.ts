import { setTimeout as sleep } from 'node:timers/promises';
import { WorkcrateError } from '../../errors.ts';
import { judged } from './endpoint-answer.ts';

export interface Patience {
  readonly tries: number;
  readonly timeoutMs: number;
  /** Doubles with each try. */
  readonly firstPauseMs: number;
  /** Whatever `Retry-After` says. */
  readonly longestPauseMs: number;
}

/** All of it together is shorter than the lease of a refit. */
const patience: Patience = { tries: 4, timeoutMs: 30_000, firstPauseMs: 500, longestPauseMs: 20_000 };

/** Thousands of long numbers for each text are within this. */
const mostBytes = 32 * 1024 * 1024;

interface Called {
  readonly url: URL;
  readonly model: string;
  readonly key: string | null;
}

/** What came of one try: the vectors, or why not and whether and when another may help. */
type Outcome =
  | { readonly vectors: number[][] }
  | { readonly failure: string; readonly again: boolean; readonly waitMs: number };

/** Asks for the vectors of some texts, in their order. */
export async function ask(
  called: Called,
  input: readonly string[],
  given: Partial<Patience>,
  signal?: AbortSignal,
): Promise<number[][]> {
  const limits = { ...patience, ...given };
  for (let attempt = 1; ; attempt++) {
    const outcome = await tryOnce(called, input, limits.timeoutMs, signal);
    if ('vectors' in outcome) return outcome.vectors;
    if (!outcome.again || attempt >= limits.tries) throw failed(outcome.failure);
    const wait = Math.max(outcome.waitMs, limits.firstPauseMs * 2 ** (attempt - 1));
    await sleep(Math.min(wait, limits.longestPauseMs), undefined, signal === undefined ? {} : { signal });
  }
}

async function tryOnce(
  called: Called,
  input: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Outcome> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    const answer = await post(called, input, either);
    if (answer.status !== 200) {
      await answer.body?.cancel();
      return refusal(answer.status, answer.headers.get('retry-after'));
    }
    const result = judged(await readBody(answer), input.length);
    return typeof result === 'string' ? { failure: result, again: false, waitMs: 0 } : { vectors: result };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof WorkcrateError) throw error;
    const failure = timeout.aborted ? `no answer within ${timeoutMs} ms` : `no connection (${codeOf(error)})`;
    return { failure, again: true, waitMs: 0 };
  }
}

/** Redirects are not followed: the key is for the host that the operator named. */
function post({ url, model, key }: Called, input: readonly string[], signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json', Accept: 'application/json' };
  if (key !== null) headers['Authorization'] = `Bearer ${key}`;
  return fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, input }),
    redirect: 'manual',
    signal,
  });
}

async function readBody(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > mostBytes) throw failed(`its answer is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** What the answer says is not passed on: it may repeat the key. */
function refusal(status: number, retryAfter: string | null): Outcome {
  const again = status === 408 || status === 429 || status >= 500;
  return { failure: `it answered ${status}${meaningOf(status)}`, again, waitMs: asked(retryAfter) };
}

function meaningOf(status: number): string {
  if (status === 401 || status === 403) return ': the key is missing, wrong or without the right';
  if (status === 404) return ': there is no such address or model';
  if (status === 400 || status === 413 || status === 422) return ': the model does not take these texts';
  if (status === 429) return ': too many requests, or the quota is used up';
  return status >= 300 && status < 400 ? ', which leads elsewhere; set the address where it leads' : '';
}

/** `Retry-After` in milliseconds, as seconds or as a date; 0 where there is none. */
function asked(header: string | null): number {
  if (header === null) return 0;
  const ms = /^\d{1,6}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** The code of the system alone: messages of the network may hold the address with all that is secret in it. */
function codeOf(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const code = (cause as { code?: unknown } | undefined)?.code ?? (error as { code?: unknown }).code;
  return typeof code === 'string' && /^[A-Z_]{1,40}$/.test(code) ? code : 'broken off';
}

export const failed = (what: string): WorkcrateError =>
  new WorkcrateError(
    'embeddings_failed',
    `The embeddings API gave no vectors: ${what}. Search by keyword meanwhile; the operator can look at the settings.`,
  );
