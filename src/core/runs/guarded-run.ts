/**
 * What the guard has to do with runs: their code is judged before it starts, and all that they print before anybody sees
 * it, is told of it while it runs, or finds it in the record. How the guard decides is in `guard/`.
 */
import { z } from 'zod';
import {
  judgedTimes,
  ruleActions,
  toVerdictError,
  verdictActions,
  type Guard,
  type Verdict,
} from '../../features/guard/guard.ts';
import type { Caller } from '../identity.ts';
import type { ExecutionRequest } from './execute.ts';
import type { ExecutionsOptions } from './executions.ts';
import type { Execution } from './fields.ts';
import type { RunOutput, RunOutputs } from './output.ts';
import type { RunResults } from './results.ts';

/** A verdict as it is recorded. */
export type RunVerdict = Omit<Verdict, 'outputs'>;

const verdictShape = z.object({
  when: z.enum(judgedTimes),
  verdict: z.enum(verdictActions),
  rules: z.array(z.object({ rule: z.string(), count: z.number() })),
  reason: z.string().nullable(),
});

export const verdictsShape = z.array(verdictShape).nullable();

/** In the answer to a call, which fails where the guard does. */
const toldVerdictShape = verdictShape.extend({ verdict: z.enum(ruleActions) });
export const toldVerdictsShape = z.array(toldVerdictShape);

export const showVerdicts = (verdicts: readonly RunVerdict[] | null): z.input<typeof verdictsShape> =>
  verdicts && verdicts.map(showVerdict);

const showVerdict = ({ when, action, rules, reason }: RunVerdict): z.input<typeof verdictShape> => ({
  when,
  verdict: action,
  rules: rules.map(({ id, count }) => ({ rule: id, count })),
  reason,
});

/** What the guard changed or recorded of a run, for the answer to its call. */
export const showToldVerdicts = (verdicts: readonly RunVerdict[] | null) =>
  listToldVerdicts(verdicts, true).map((verdict) => showVerdict(verdict) as z.input<typeof toldVerdictShape>);

/** What was decided, in a line each; `isBrief` leaves out what changed nothing. */
export function toVerdictLines(verdicts: readonly RunVerdict[] | null, isBrief: boolean): string[] {
  return listToldVerdicts(verdicts, isBrief).map(({ when, action, rules, reason }) => {
    const which = rules.map(({ id, count }) => `${id} ${count}`).join(', ');
    return `Guard, ${when} the run: ${action}${which === '' ? '' : ` (${which})`}.${reason === null ? '' : ` ${reason}`}`;
  });
}

const listToldVerdicts = (verdicts: readonly RunVerdict[] | null, isBrief: boolean): readonly RunVerdict[] =>
  (verdicts ?? []).filter(({ action }) => !isBrief || action !== 'allow');

export const toRunVerdict = ({ when, action, rules, reason }: Verdict): RunVerdict => ({
  when,
  action,
  rules,
  reason,
});

/** What is known of a run before it begins. */
export type JudgedRequest = Pick<ExecutionRequest, 'tool' | 'language' | 'code' | 'stdin' | 'client'> &
  Partial<Pick<ExecutionRequest, 'workingDir' | 'network' | 'others'>>;

/** All code of runs comes by here, also that of scripts, cells and replays. Null without a guard. */
export async function judgeCode(
  guard: Guard | null,
  caller: Caller,
  request: JudgedRequest,
  execution: string | null,
): Promise<Verdict | null> {
  const tool = { name: request.tool, isSensitive: true };
  if (guard === null || !guard.judges(tool, 'before')) return null;
  const { stdin, workingDir, network, others = [] } = request;
  return guard.judge({
    tool,
    when: 'before',
    user: caller.user,
    client: request.client ?? null,
    execution,
    code: { language: request.language, text: request.code },
    arguments: {
      stdin,
      ...(workingDir ? { working_dir: workingDir } : {}),
      ...(network ? { network } : {}),
      ...(others.length === 0 ? {} : { files: others.map(({ name }) => name) }),
    },
  });
}

const heldBack = '[The guard judges what this run prints, and holds it back until the run has ended.]\n';

export type OutputJudge = NonNullable<ReturnType<typeof createOutputJudge>>;

/** Judges what one run prints; null where nothing of the guard is about that. */
export function createOutputJudge(
  { guard = null, files, log }: Pick<ExecutionsOptions, 'guard' | 'files' | 'log'>,
  { id, tool: name, owner: user }: Pick<Execution, 'id' | 'tool' | 'owner'>,
  client: string | null,
) {
  const tool = { name, isSensitive: true };
  if (guard === null || !guard.judges(tool, 'after')) return null;
  const judge = (outputs: readonly string[]): Promise<Verdict> =>
    guard.judge({ tool, when: 'after', user, client, execution: id, outputs });
  /** What was found in bytes that only a file would have had. */
  const found: Verdict[] = [];

  /** Rejects where the guard would change anything of it: a file is kept as it is, or not at all. */
  async function demandClean(text: string): Promise<void> {
    const verdict = await judge([text]);
    if (verdict.action === 'allow') return;
    found.push(verdict);
    if (verdict.action === 'record') return;
    throw toVerdictError(verdict.action === 'redact' ? { ...verdict, action: 'block' } : verdict)!;
  }

  async function removeFiles(outputs: RunOutputs, results: RunResults): Promise<void> {
    const stored = [outputs.stdout.spooled?.file?.id, outputs.stderr.spooled?.file?.id];
    const parts = results.results.flatMap((result) => result.parts.map(({ fileId }) => fileId));
    for (const file of [...stored, ...parts]) if (file) await files.remove({ user }, file);
  }

  return {
    heldBack,

    /** The bytes of an output as they come, judged piece by piece, each with the end of the one before. */
    async *checkStream(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      const decoder = new TextDecoder();
      let text = '';
      for await (const chunk of chunks) {
        text += decoder.decode(chunk, { stream: true });
        if (text.length >= pieceCharacters) {
          await demandClean(text);
          text = text.slice(-overlapCharacters);
        }
        yield chunk;
      }
      await demandClean(text);
    },

    /** A part of a result that is text is judged like output; pictures are not read. */
    async checkPart(mime: string, bytes: Uint8Array): Promise<void> {
      if (readableTypes.test(mime)) await demandClean(new TextDecoder().decode(bytes));
    },

    /** What may be shown and recorded of a run, and what was decided. */
    async finish(outputs: RunOutputs, results: RunResults) {
      const texts = [outputs.stdout.text, outputs.stderr.text, ...results.results.map(({ text }) => text)];
      const judged = joinVerdicts(await judge(texts), found);
      const verdict = toRunVerdict(judged);
      if (toVerdictError(judged) === null) return { ...putTexts(outputs, results, judged.outputs), verdict };
      await removeFiles(outputs, results).catch((error: unknown) =>
        log.error('execution.withheld_files_not_removed', { id, error }),
      );
      return { outputs: withholdOutputs(outputs), results: { results: [], moreResults: 0 }, verdict };
    },
  };
}

const pieceCharacters = 256 * 1024;
/** What a rule looks for may be in two pieces. */
const overlapCharacters = 8 * 1024;
const readableTypes = /^(?:text\/|image\/svg|application\/(?:json|xml|javascript|geo|vnd\.[\w.+-]*json))/;

const weigh = ({ action }: Verdict): number => verdictActions.indexOf(action);

/** What files would have had counts with the rest, but only what is shown can be blanked. */
function joinVerdicts(shown: Verdict, others: readonly Verdict[]): Verdict {
  const counts = new Map<string, number>();
  for (const { id, count } of [shown, ...others].flatMap(({ rules }) => rules))
    counts.set(id, (counts.get(id) ?? 0) + count);
  const heaviest = [shown, ...others].toSorted((one, other) => weigh(other) - weigh(one))[0]!;
  const reasons = new Set([shown, ...others].flatMap(({ reason }) => (reason === null ? [] : [reason])));
  const isWithheld = heaviest.action === 'block' || heaviest.action === 'fail';
  return {
    when: 'after',
    action: heaviest.action,
    rules: [...counts].map(([id, count]) => ({ id, count })),
    reason: heaviest.action === 'fail' ? heaviest.reason : [...reasons].join(' ') || null,
    outputs: isWithheld ? [] : shown.outputs,
  };
}

function putTexts(outputs: RunOutputs, results: RunResults, [stdout, stderr, ...values]: readonly string[]) {
  return {
    outputs: {
      stdout: { ...outputs.stdout, text: stdout! },
      stderr: { ...outputs.stderr, text: stderr! },
    },
    results: {
      ...results,
      results: results.results.map((result, at) => ({ ...result, text: values[at]! })),
    },
  };
}

const withholdOutput = (output: RunOutput): RunOutput => ({
  ...output,
  text: '',
  truncated: false,
  spooled: null,
});

const withholdOutputs = ({ stdout, stderr }: RunOutputs): RunOutputs => ({
  stdout: withholdOutput(stdout),
  stderr: withholdOutput(stderr),
});

/** If the guard could not judge what a run printed, its call fails: the run is recorded, without its output. */
export function demandJudgedOutput({ id, guard }: Pick<Execution, 'id' | 'guard'>): void {
  const failed = (guard ?? []).find(({ when, action }) => when === 'after' && action === 'fail');
  if (failed === undefined) return;
  const error = toVerdictError({ ...failed, outputs: [] })!;
  error.message += ` The run is recorded as ${id}, without its output.`;
  throw error;
}
