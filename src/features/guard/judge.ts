/**
 * The optional judge: an HTTP endpoint of the operator's that is asked about calls. Whatever it answers but a verdict
 * that fits fails the call: no answer in time, another status, no JSON, too much of it, an odd verdict.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { fetchBounded, FetchError } from '../../platform/net/bounded-fetch.ts';
import { formatBytes } from '../../platform/text/text.ts';
import { judgedTimes, type JudgedTime } from './rule.ts';

export const judgeSchema = z.strictObject({
  url: z.url({ protocol: /^https?$/ }),
  timeout_ms: z.int().min(10).max(60_000).default(5000),
  when: z
    .array(z.enum(judgedTimes))
    .min(1)
    .default([...judgedTimes]),
  /** Names of tools by glob; without it all that are sensitive. */
  tools: z.array(z.string().min(1).max(300)).min(1).max(500).optional(),
  headers: z.record(z.string().regex(/^[\w-]{1,100}$/), z.string().max(8000)).default({}),
});

export type JudgeSettings = z.output<typeof judgeSchema>;

/** What the endpoint is told. */
export interface JudgeQuestion {
  readonly when: JudgedTime;
  readonly tool: string;
  readonly caller: { readonly user: string; readonly client: string | null };
  readonly arguments?: unknown;
  readonly output?: readonly string[];
}

const judgeAnswer = z.object({
  verdict: z.enum(['allow', 'block', 'redact']),
  reason: z.string().max(2000).default(''),
  /** Of an output: what to blank, word for word. */
  redact: z.array(z.string().min(1).max(100_000)).max(1000).optional(),
});

export type EndpointVerdict = z.output<typeof judgeAnswer>;

/** Larger questions are not asked, and so the call fails. */
const maxQuestionBytes = 4 * 1024 ** 2;
const maxAnswerBytes = 256 * 1024;

/** Asks the endpoint. Rejects with `guard_failed`, whose message goes on after "because ". */
export async function askJudge(
  { url, timeout_ms: timeoutMs, headers }: JudgeSettings,
  question: JudgeQuestion,
  signal?: AbortSignal,
): Promise<EndpointVerdict> {
  const body = JSON.stringify(question);
  const bytes = Buffer.byteLength(body);
  if (bytes > maxQuestionBytes)
    throw failJudge(
      `the call has ${formatBytes(bytes)}, and its judge takes ${formatBytes(maxQuestionBytes)}`,
    );
  const sent = {
    method: 'POST' as const,
    body,
    headers: { 'Content-Type': 'application/json', ...headers },
    signal,
  };
  // The operator has named it.
  const policy = { timeoutMs, maxBytes: maxAnswerBytes, privateAddresses: 'allowed' as const };
  const read = await fetchBounded(url, sent, policy, async (answer) => ({
    status: answer.status,
    text: answer.status === 200 ? await answer.text() : '',
  })).catch((error: unknown) => {
    if (error instanceof FetchError) throw failJudge(`its judge failed: ${error.message}`);
    throw error;
  });
  if (read.status !== 200) throw failJudge(`its judge answered with status ${read.status}`);
  return parseAnswer(read.text, question.when);
}

function parseAnswer(text: string, when: JudgedTime): EndpointVerdict {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw failJudge('its judge answered no JSON');
  }
  const answer = judgeAnswer.safeParse(value);
  if (!answer.success) throw failJudge('its judge answered no verdict of allow, block or redact');
  const { verdict, redact } = answer.data;
  if (verdict === 'redact' && when === 'before')
    throw failJudge('its judge wants to redact what has not run yet');
  if (verdict === 'redact' && redact === undefined) throw failJudge('its judge does not say what to redact');
  return answer.data;
}

const failJudge = (why: string): WorkcrateError => new WorkcrateError('guard_failed', why);
