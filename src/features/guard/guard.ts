/**
 * The door of the guard: it judges what a tool is asked for before it runs, and what it would answer after, by rules and
 * by an optional judge. If it cannot judge, its verdict is `fail`, and nothing runs or is shown. Every verdict is a line of
 * the audit log. It wraps no tool (`wrappers.ts` does), and reads no file (`rule-file.ts` does).
 */
import type { Audit } from '../../core/audit/audit.ts';
import { isWorkcrateError, WorkcrateError } from '../../platform/errors.ts';
import { createGlob } from '../../platform/text/glob.ts';
import type { Log } from '../../platform/observability/log.ts';
import { formatBytes } from '../../platform/text/text.ts';
import type { Evaluation } from './evaluate.ts';
import { createEvaluator } from './evaluator.ts';
import { askJudge, type JudgeSettings } from './judge.ts';
import type { JudgedTime, Rule } from './rule.ts';
import { listNamedTexts } from './texts.ts';

export { judgedTimes, ruleActions, type JudgedTime } from './rule.ts';

/**
 * A tool, or another door such as `resources/read`, as the guard knows it. Before a call, rules that name no tools are
 * about the sensitive ones; after it they are about every answer, since a secret is one wherever it is read.
 */
export interface JudgedTool {
  readonly name: string;
  readonly isSensitive: boolean;
}

/** What is to be judged, and for whom. */
export interface JudgedCall {
  readonly tool: JudgedTool;
  readonly when: JudgedTime;
  readonly user: string;
  readonly client: string | null;
  /** The execution that it is about, where there is one. */
  readonly execution?: string | null;
  readonly code?: { readonly language: string | null; readonly text: string };
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly outputs?: readonly string[];
  readonly signal?: AbortSignal;
}

export const verdictActions = ['allow', 'record', 'redact', 'block', 'fail'] as const;
export type VerdictAction = (typeof verdictActions)[number];

/** What was decided of a call. */
export interface Verdict {
  readonly when: JudgedTime;
  readonly action: VerdictAction;
  /** The rules that fit; `judge` is the endpoint. */
  readonly rules: readonly { readonly id: string; readonly count: number }[];
  /** Why, and what to do about it, for the caller; null where there is nothing to say. */
  readonly reason: string | null;
  /** What may be shown of the outputs: none where the action is `block` or `fail`. */
  readonly outputs: readonly string[];
}

export interface Guard extends AsyncDisposable {
  /** What it has, for the operator. */
  readonly rules: number;
  readonly hasJudge: boolean;
  /** Whether anything of it is about this tool at this time. */
  judges(tool: JudgedTool, when: JudgedTime): boolean;
  /** Never rejects, but for a signal: a guard that fails is a verdict. */
  judge(call: JudgedCall): Promise<Verdict>;
}

export interface GuardOptions {
  readonly rules: readonly Rule[];
  readonly judge: JudgeSettings | null;
  /** How long the rules may take for one call. */
  readonly timeMs?: number;
  readonly audit: Pick<Audit, 'note'>;
  readonly log: Log;
}

/** More than any answer of our own tools; what another server answers may be larger, and is refused then. */
const maxJudgedBytes = 32 * 1024 ** 2;

export function createGuard({ rules, judge, audit, log, timeMs }: GuardOptions): Guard {
  const evaluator = createEvaluator({ rules, log, ...(timeMs === undefined ? {} : { timeMs }) });
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const choices = rules.map(({ when, tools }) => ({ when: [when], isMeant: createToolChoice(tools) }));
  const judgeChoice = judge && { when: judge.when, isMeant: createToolChoice(judge.tools) };
  const applies = (
    choice: (typeof choices)[number] | typeof judgeChoice,
    tool: JudgedTool,
    when: JudgedTime,
  ) => choice !== null && choice.when.includes(when) && choice.isMeant(tool, when);
  const chooseRules = (tool: JudgedTool, when: JudgedTime): number[] =>
    choices.flatMap((choice, at) => (applies(choice, tool, when) ? [at] : []));

  async function decide(call: JudgedCall): Promise<Verdict> {
    const { tool, when, user, code, outputs = [] } = call;
    const texts = listNamedTexts(call.arguments ?? {});
    demandBounds([code?.text ?? '', ...texts.map(({ text }) => text), ...outputs]);
    const chosen = chooseRules(tool, when);
    const input = { language: code?.language ?? null, code: code?.text ?? null, texts, outputs };
    const found =
      chosen.length === 0
        ? { hits: [], outputs }
        : await evaluator.evaluate(user, { rules: chosen, input }, call.signal);
    const verdict = toVerdict(when, byId, found);
    if (verdict.action === 'block' || !applies(judgeChoice, tool, when)) return verdict;
    return heedJudge(judge!, call, verdict);
  }

  return {
    rules: rules.length,
    hasJudge: judge !== null,
    judges: (tool, when) => applies(judgeChoice, tool, when) || chooseRules(tool, when).length > 0,
    async judge(call) {
      const verdict = await decide(call).catch((error: unknown) => {
        call.signal?.throwIfAborted();
        log.warn('guard.failed', { tool: call.tool.name, when: call.when, error });
        return toFailure(call.when, error);
      });
      noteVerdict(audit, call, verdict);
      return verdict;
    },
    [Symbol.asyncDispose]: () => evaluator[Symbol.asyncDispose](),
  };
}

function createToolChoice(
  globs: readonly string[] | undefined,
): (tool: JudgedTool, when: JudgedTime) => boolean {
  if (globs === undefined) return ({ isSensitive }, when) => when === 'after' || isSensitive;
  const fits = globs.map(createGlob);
  return ({ name }) => fits.some((fit) => fit(name));
}

function demandBounds(texts: readonly string[]): void {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > maxJudgedBytes)
    throw new WorkcrateError(
      'guard_failed',
      `there are ${formatBytes(bytes)} to judge, and it takes at most ${formatBytes(maxJudgedBytes)}`,
    );
}

/** The heaviest action of the rules that fit. */
function toVerdict(when: JudgedTime, byId: ReadonlyMap<string, Rule>, found: Evaluation): Verdict {
  const fitting = found.hits.map(({ id }) => byId.get(id)!);
  const decisive = (['block', 'redact', 'record'] as const).find((action) =>
    fitting.some((rule) => rule.action === action),
  );
  const reasons = fitting.filter(({ action }) => action === decisive && action !== 'record');
  return {
    when,
    action: decisive ?? 'allow',
    rules: found.hits,
    reason: reasons.length === 0 ? null : reasons.map(describeRule).join(' '),
    outputs: decisive === 'block' ? [] : found.outputs,
  };
}

const describeRule = ({ id, reason, remedy }: Rule): string =>
  `${endSentence(reason)} ${endSentence(remedy)} (rule ${id})`;
const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** Asked last, and only about what the rules leave. */
async function heedJudge(
  settings: JudgeSettings,
  { tool, when, user, client, code, signal, ...call }: JudgedCall,
  verdict: Verdict,
): Promise<Verdict> {
  const asked =
    when === 'after'
      ? { output: verdict.outputs }
      : { arguments: { ...call.arguments, ...(code && { language: code.language, code: code.text }) } };
  const question = { when, tool: tool.name, caller: { user, client }, ...asked };
  const { verdict: said, reason, redact = [] } = await askJudge(settings, question, signal);
  if (said === 'allow') return verdict;
  const outputs = said === 'block' ? [] : verdict.outputs.map((text) => blankAll(text, redact));
  const own = `The judge of this server ${said === 'block' ? 'blocked' : 'redacted'} it${reason === '' ? '.' : `: ${endSentence(reason)}`}`;
  const rules = [...verdict.rules, { id: 'judge', count: Math.max(1, redact.length) }];
  return { when, action: said, rules, outputs, reason: [verdict.reason ?? '', own].join(' ').trim() };
}

const blankAll = (text: string, parts: readonly string[]): string =>
  parts.reduce((shown, part) => shown.replaceAll(part, () => '[redacted: judge]'), text);

/** A message of ours goes on after "because "; any other error is a fault of the guard itself. */
function toFailure(when: JudgedTime, error: unknown): Verdict {
  const why = isWorkcrateError(error, 'guard_failed')
    ? error.message
    : 'it failed; the log of the server says why';
  return { when, action: 'fail', rules: [], reason: why, outputs: [] };
}

/** The error for a call that may not go on; null where it may. */
export function toVerdictError({ when, action, rules, reason }: Verdict): WorkcrateError | null {
  const details = { when, rules: rules.map(({ id }) => id).join(' ') };
  const what = when === 'before' ? 'Nothing was run.' : 'Its answer is not shown.';
  if (action === 'fail')
    return new WorkcrateError(
      'guard_failed',
      `The guard of this server could not judge this call, because ${reason}. ${what} Try again; if it stays so, ask whoever runs the server.`,
      { details: { when } },
    );
  if (action !== 'block') return null;
  return new WorkcrateError(
    'guard_blocked',
    `The guard of this server blocked this call. ${what} ${reason ?? ''}`.trim(),
    {
      details,
    },
  );
}

const verdictLevels = {
  allow: 'trace',
  record: 'info',
  redact: 'info',
  block: 'warning',
  fail: 'warning',
} as const;

function noteVerdict(audit: Pick<Audit, 'note'>, call: JudgedCall, { when, action, rules }: Verdict): void {
  audit.note({
    level: verdictLevels[action],
    operation: 'guard',
    user: call.user,
    client: call.client,
    subject: call.execution ?? call.tool.name,
    result: action,
    details: {
      tool: call.tool.name,
      when,
      ...(rules.length === 0 ? {} : { rules: rules.map(({ id, count }) => `${id} ${count}`).join(', ') }),
    },
  });
}
