/**
 * The ways in which a model endpoint fails, each with what helps and whether asking again may help. It recognises them by
 * status, headers and the words of the answer. It asks nothing again: `ask-model.ts` does.
 */
import { FetchError, formatDuration, quoteShort } from 'workcrate/toolkit';

export type FailureClass =
  | 'auth'
  | 'quota'
  | 'rate_limit'
  | 'context_too_long'
  | 'content_filter'
  | 'overloaded'
  | 'timeout'
  | 'network'
  | 'bad_tools'
  | 'bad_temperature'
  | 'bad_model'
  | 'bad_endpoint'
  | 'bad_request'
  | 'broken_answer'
  | 'answer_too_long'
  | 'malformed_call'
  | 'steps_used'
  | 'server_lost'
  | 'cancelled';

interface FailureRule {
  /** What happened; the words of the endpoint follow. */
  readonly problem: string;
  readonly remedy: string;
  /** How often the same step is asked again. Some of these change the request first: `ask-model.ts`. */
  readonly retries: number;
}

export const failureRules: Readonly<Record<FailureClass, FailureRule>> = {
  auth: {
    problem: 'The endpoint does not accept the key.',
    remedy: 'Set WORKCRATE_API_KEY to a key of this endpoint that may use the model.',
    retries: 0,
  },
  quota: {
    problem: 'The account at the endpoint has nothing left to spend.',
    remedy: 'Add credit or raise the limit there, or name another with --endpoint.',
    retries: 0,
  },
  rate_limit: {
    problem: 'The endpoint takes no more requests for now.',
    remedy: 'Wait, then ask again, or raise the rate limit of the account.',
    retries: 3,
  },
  context_too_long: {
    problem: 'The conversation is longer than the model can read.',
    remedy: 'Ask for less at a time, or name a model with a longer context with --model.',
    retries: 1,
  },
  content_filter: {
    problem: 'The filter of the endpoint refused the request or its answer.',
    remedy: 'Ask in other words, or name another model with --model.',
    retries: 0,
  },
  overloaded: {
    problem: 'The endpoint failed or is overloaded.',
    remedy: 'Ask again later, or name another with --endpoint.',
    retries: 3,
  },
  timeout: {
    problem: 'The endpoint said nothing for too long.',
    remedy: 'Ask again later, or let it take longer with --endpoint-timeout.',
    retries: 1,
  },
  network: {
    problem: 'The endpoint cannot be reached.',
    remedy: 'Check --endpoint, and whether the endpoint is running.',
    retries: 3,
  },
  bad_tools: {
    problem: 'The endpoint does not take the descriptions of the tools.',
    remedy: 'Name a model that calls tools with --model, or offer fewer tools with --tools at the server.',
    retries: 1,
  },
  bad_temperature: {
    problem: 'The model takes no temperature.',
    remedy: 'Name another model with --model.',
    retries: 1,
  },
  bad_model: {
    problem: 'The endpoint does not have this model.',
    remedy: 'Name one that it has with --model.',
    retries: 0,
  },
  bad_endpoint: {
    problem: 'What answers there is no OpenAI-compatible API.',
    remedy: 'Check --endpoint: most end with /v1, without /chat/completions.',
    retries: 0,
  },
  bad_request: {
    problem: 'The endpoint refused the request.',
    remedy: 'Read what it says, and whether it speaks the chat completions API.',
    retries: 0,
  },
  broken_answer: {
    problem: 'The answer of the endpoint was incomplete or not in the form of the API.',
    remedy: 'Ask again. If it happens every time, name another with --endpoint.',
    retries: 2,
  },
  answer_too_long: {
    problem: 'The answer of the endpoint had no end.',
    remedy: 'Ask again in other words, or name another model with --model.',
    retries: 0,
  },
  malformed_call: {
    problem: 'The model made no call of a tool that can be used, however often it was asked.',
    remedy: 'Name a model that is better at calling tools with --model, or ask for one thing at a time.',
    retries: 0,
  },
  steps_used: {
    problem: 'The model had not finished after all its steps.',
    remedy: 'Allow more with --steps, or ask for one thing at a time.',
    retries: 0,
  },
  server_lost: {
    problem: 'The connection to the Workcrate server broke.',
    remedy: 'Check that the server runs, then ask again.',
    retries: 0,
  },
  cancelled: { problem: 'It was cancelled.', remedy: 'Ask again.', retries: 0 },
};

/** Ends the work of an agent. The message has the words of the endpoint, cut; they may still repeat a key. */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly failure: FailureClass;
  readonly remedy: string;
  /** How long the endpoint asks to wait, in milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(
    failure: FailureClass,
    said = '',
    more: { cause?: unknown; retryAfterMs?: number | null } = {},
  ) {
    const { retryAfterMs = null, cause } = more;
    const { problem, remedy } = failureRules[failure];
    const wait = retryAfterMs === null ? '' : ` It asks to wait for ${formatDuration(retryAfterMs)}.`;
    super(`${problem}${said === '' ? '' : ` It says: ${quoteShort(said, 300)}.`}${wait}`, { cause });
    this.failure = failure;
    this.remedy = remedy;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What an error of the AI SDK or of the network tells. */
interface Evidence {
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly said: string;
  /** Its words, and the codes beside them. */
  readonly words: string;
}

/** The class of whatever went wrong while an endpoint was asked. */
export function toAgentError(error: unknown): AgentError {
  if (error instanceof AgentError) return error;
  const cause = findFetchError(error);
  if (cause !== null) return new AgentError(fetchFailures[cause.kind], cause.message, { cause });
  const evidence = readEvidence(error);
  const retryAfterMs = readRetryAfter(evidence.headers);
  const failure = classifyEvidence(evidence, retryAfterMs);
  const isWait = failure === 'rate_limit' || failure === 'overloaded';
  return new AgentError(failure, evidence.said, { cause: error, retryAfterMs: isWait ? retryAfterMs : null });
}

const fetchFailures: Readonly<Record<FetchError['kind'], FailureClass>> = {
  timeout: 'timeout',
  network: 'network',
  broken_off: 'network',
  too_long: 'answer_too_long',
  private_address: 'network',
};

/** The AI SDK wraps some errors of the network, and gives others as they are. */
function findFetchError(error: unknown): FetchError | null {
  for (let [at, depth] = [error, 0]; at instanceof Error && depth < 5; [at, depth] = [at.cause, depth + 1])
    if (at instanceof FetchError) return at;
  return null;
}

const maxWords = 4000;

function readEvidence(error: unknown): Evidence {
  const fields = (typeof error === 'object' && error !== null ? error : { message: error }) as {
    statusCode?: unknown;
    responseHeaders?: Record<string, string>;
    responseBody?: unknown;
    message?: unknown;
    code?: unknown;
    type?: unknown;
    status?: unknown;
  };
  const { statusCode, status, code, type } = fields;
  const said = readText(fields.message);
  const words = [said, readText(fields.responseBody), readText(code), readText(type)].join(' ');
  // An error in the middle of a stream has no status of its own, but some repeat one as their code.
  const number = [statusCode, status, code].find((one) => Number(one) >= 100 && Number(one) < 600);
  return {
    status: number === undefined ? null : Number(number),
    headers: fields.responseHeaders ?? {},
    said,
    words: words.slice(0, maxWords).toLowerCase(),
  };
}

const readText = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, maxWords) : typeof value === 'number' ? String(value) : '';

/** What endpoints say, in the order in which it decides: words about one thing are also in messages about another. */
const wordRules: readonly { failure: FailureClass; statuses: readonly number[] | null; words: RegExp }[] = [
  {
    failure: 'context_too_long',
    statuses: null,
    words:
      /context_length_exceeded|maximum context|context (?:length|window|size)|(?:prompt|input) is too long|too many (?:input )?tokens/,
  },
  {
    failure: 'content_filter',
    statuses: [400, 403, 422],
    words: /content_filter|content_policy|content (?:management )?policy|responsible ?ai|safety/,
  },
  {
    failure: 'bad_model',
    statuses: [400, 404, 422],
    words:
      /model_not_found|(?:unknown|invalid|no such) model|model\b.{0,120}(?:not found|does not exist|not exist|not available|not supported|unknown)/s,
  },
  {
    failure: 'bad_temperature',
    statuses: [400, 422],
    words: /temperature/,
  },
  {
    failure: 'bad_tools',
    statuses: [400, 404, 422, 501],
    words:
      /\btools?\b|tool_(?:choice|calls?)|\bfunctions?\b|json schema|invalid_function_parameters|\bschema\b/,
  },
];

const quotaWords = /insufficient_quota|insufficient (?:funds|balance|credit)|billing|out of credits?/;

function classifyEvidence({ status, words }: Evidence, retryAfterMs: number | null): FailureClass {
  if (
    status === 402 ||
    ((status === 429 || status === null) && quotaWords.test(words) && retryAfterMs === null)
  )
    return 'quota';
  if (status === 429 || (status === null && /rate.?limit/.test(words))) return 'rate_limit';
  if (status === 413) return 'context_too_long';
  const known = wordRules.find(
    (rule) =>
      (status === null || rule.statuses === null || rule.statuses.includes(status)) && rule.words.test(words),
  );
  if (known !== undefined && (status !== null || known.failure !== 'bad_tools')) return known.failure;
  if (status === null)
    return /overloaded|unavailable|server_error/.test(words) ? 'overloaded' : 'broken_answer';
  return classifyStatus(status);
}

function classifyStatus(status: number): FailureClass {
  if (status === 401 || status === 403) return 'auth';
  if (status === 408 || status === 504) return 'timeout';
  if (status >= 500) return 'overloaded';
  if (status === 404 || status === 405 || (status >= 300 && status < 400)) return 'bad_endpoint';
  return status >= 400 ? 'bad_request' : 'broken_answer';
}

/** In milliseconds: `Retry-After` is a number of seconds or a date, and some send milliseconds beside it. */
function readRetryAfter(headers: Readonly<Record<string, string>>): number | null {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (exact >= 0) return exact;
  const given = headers['retry-after'];
  if (given === undefined) return null;
  const seconds = Number(given);
  if (seconds >= 0) return seconds * 1000;
  const date = Date.parse(given);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}
