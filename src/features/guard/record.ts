/** What the guard decided of a run, as it is recorded and told. How it judges runs is in `runs.ts`. */
import { z } from 'zod';
import type { RunRecordPart } from '../../core/runs/extension.ts';
import { makeJsonField, type Execution } from '../../core/runs/fields.ts';
import { judgedTimes, ruleActions, toVerdictError, verdictActions, type Verdict } from './guard.ts';

/** A verdict as it is recorded. */
export type RunVerdict = Omit<Verdict, 'outputs'>;

const verdictShape = z.object({
  when: z.enum(judgedTimes),
  verdict: z.enum(verdictActions),
  rules: z.array(z.object({ rule: z.string(), count: z.number() })),
  reason: z.string().nullable(),
});

const verdictsShape = z.array(verdictShape).nullable();

/** In the answer to a call, which fails where the guard does. */
const toldVerdictShape = verdictShape.extend({ verdict: z.enum(ruleActions) });
const toldVerdictsShape = z.array(toldVerdictShape);

const showVerdicts = (verdicts: readonly RunVerdict[] | null): z.input<typeof verdictsShape> =>
  verdicts && verdicts.map(showVerdict);

const showVerdict = ({ when, action, rules, reason }: RunVerdict): z.input<typeof verdictShape> => ({
  when,
  verdict: action,
  rules: rules.map(({ id, count }) => ({ rule: id, count })),
  reason,
});

/** What was decided, in a line each; `isBrief` leaves out what changed nothing. */
function toVerdictLines(verdicts: readonly RunVerdict[] | null, isBrief: boolean): string[] {
  return listToldVerdicts(verdicts, isBrief).map(({ when, action, rules, reason }) => {
    const which = rules.map(({ id, count }) => `${id} ${count}`).join(', ');
    return `Guard, ${when} the run: ${action}${which === '' ? '' : ` (${which})`}.${reason === null ? '' : ` ${reason}`}`;
  });
}

const listToldVerdicts = (verdicts: readonly RunVerdict[] | null, isBrief: boolean): readonly RunVerdict[] =>
  (verdicts ?? []).filter(({ action }) => !isBrief || action !== 'allow');

/** If the guard could not judge what a run printed, its call fails: the run is recorded, without its output. */
function demandJudgedOutput({ id, guard }: Pick<Execution, 'id' | 'guard'>): void {
  const failed = (guard ?? []).find(({ when, action }) => when === 'after' && action === 'fail');
  if (failed === undefined) return;
  const error = toVerdictError({ ...failed, outputs: [] })!;
  error.message += ` The run is recorded as ${id}, without its output.`;
  throw error;
}

const guardFields = {
  /** What was decided of it; null where there was no guard. */
  guard: {
    after: 'cancelledBy',
    initial: null,
    ...makeJsonField(
      'guard',
      'end',
      verdictsShape.describe('What the guard decided, before and after'),
      (parsed: readonly RunVerdict[] | null) => parsed,
      showVerdicts,
    ),
  },
} satisfies RunRecordPart['fields'];

declare module '../../core/runs/fields.ts' {
  interface FieldTables {
    readonly guard: typeof guardFields;
  }
}

export const guardRecord: RunRecordPart = {
  fields: guardFields,
  answer: {
    guard: {
      schema: toldVerdictsShape.describe('What the guard changed or recorded'),
      show(execution) {
        if (execution.reason === 'running') return null;
        demandJudgedOutput(execution);
        const told = listToldVerdicts(execution.guard, true);
        return told.length === 0 ? null : told.map(showVerdict);
      },
    },
  },
  describe({ guard }, section) {
    return section === 'answer' || section === 'record' ? toVerdictLines(guard, section === 'answer') : [];
  },
};
