/**
 * The guard in a run: its code is judged before it starts, and all that it prints before anybody sees it, is told of it
 * while it runs, or finds it in the record. How the guard decides is in `guard.ts`.
 */
import type { Files } from '../../core/files/files.ts';
import type { Caller } from '../../core/identity.ts';
import type {
  JudgedRequest,
  OutputGate,
  PreparingRun,
  RunExtension,
  RunOutput,
  RunOutputs,
  RunPart,
  RunResults,
} from '../../core/runs/extension.ts';
import type { Log } from '../../platform/observability/log.ts';
import { toVerdictError, verdictActions, type Guard, type Verdict } from './guard.ts';
import type { RunVerdict } from './record.ts';

export interface RunGuardOptions {
  readonly guard: Guard;
  readonly files: Pick<Files, 'remove'>;
  readonly log: Log;
}

const toRunVerdict = ({ when, action, rules, reason }: Verdict): RunVerdict => ({
  when,
  action,
  rules,
  reason,
});

/** Judges all code of runs, also that of scripts, cells and replays, and what it prints. */
export function createRunGuard(options: RunGuardOptions): RunExtension {
  return {
    async judge(caller, asked, execution) {
      const verdict = await judgeCode(options.guard, caller, asked, execution);
      return verdict && { refusal: toVerdictError(verdict), fields: { guard: [toRunVerdict(verdict)] } };
    },
    prepare: (run) => joinRun(options, run),
  };
}

async function judgeCode(
  guard: Guard,
  caller: Caller,
  request: JudgedRequest,
  execution: string | null,
): Promise<Verdict | null> {
  const tool = { name: request.tool, isSensitive: true };
  if (!guard.judges(tool, 'before')) return null;
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

const notice = '[The guard judges what this run prints, and holds it back until the run has ended.]\n';

/** Null where nothing of the guard is about what this run prints. */
function joinRun(
  { guard, files, log }: RunGuardOptions,
  { id, caller, request }: PreparingRun,
): RunPart | null {
  const tool = { name: request.tool, isSensitive: true };
  if (!guard.judges(tool, 'after')) return null;
  const { user } = caller;
  const asked = { tool, when: 'after', user, client: request.client ?? null, execution: id } as const;
  const judge = (outputs: readonly string[]): Promise<Verdict> => guard.judge({ ...asked, outputs });
  /** What was found in bytes that only a file would have had. */
  const found: Verdict[] = [];
  let decided: RunVerdict | null = null;

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

  const gate: OutputGate = {
    notice,

    /** Judged piece by piece, each with the end of the one before. */
    async *checkStream(chunks) {
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
    async checkPart(mime, bytes) {
      if (readableTypes.test(mime)) await demandClean(new TextDecoder().decode(bytes));
    },

    async finish(outputs, results) {
      const texts = [outputs.stdout.text, outputs.stderr.text, ...results.results.map(({ text }) => text)];
      const judged = joinVerdicts(await judge(texts), found);
      decided = toRunVerdict(judged);
      if (toVerdictError(judged) === null) return putTexts(outputs, results, judged.outputs);
      await removeFiles(outputs, results).catch((error: unknown) =>
        log.error('execution.withheld_files_not_removed', { id, error }),
      );
      return { outputs: withholdOutputs(outputs), results: { results: [], moreResults: 0 } };
    },
  };

  return {
    gate,
    finish: ({ guard: before }) =>
      decided === null ? {} : { fields: { guard: [...(before ?? []), decided] } },
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
