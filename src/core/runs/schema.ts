/**
 * Input schemas of the tools that run code and look up what was run, and the schema of a list of runs. That of one run is
 * in `record.ts`. It reads no rows.
 */
import { z } from 'zod';
import { listAs, makeText, makeWholeNumber } from '../offer/schema.ts';
import { languages } from '../../ports/sandbox/sandbox.ts';
import {
  coreFields,
  listedFields,
  reasons,
  type Execution,
  type FieldTable,
  type ListedExecution,
  type ShownShape,
} from './fields.ts';
import type { RunRecord } from './record.ts';
import { cursorForm, type FoundPage, executionIdForm } from './store.ts';

/** All of one run in JSON: what `record.ts` shows. */
export type ShownRun = z.output<z.ZodObject<ShownShape<keyof FieldTable>>>;

/** What all fields have in common, where they are gone through. */
interface ShownField {
  readonly json: string;
  readonly schema: z.ZodType;
  readonly show: (execution: Execution) => unknown;
}

const toShownFields = (name: keyof typeof coreFields): ShownField[] => {
  const field = coreFields[name];
  if (field.json === null) return [];
  const { json, schema } = field;
  if (field.column === null) return [{ json, schema, show: field.derive }];
  const toJson = field.toJson as (value: unknown) => unknown;
  const show = (execution: Execution): unknown => {
    const value = execution[name as keyof Execution];
    return value === null ? null : toJson(value);
  };
  return [{ json, schema, show }];
};

const listedShownFields = listedFields.flatMap(toShownFields);

const toShape = (fields: readonly ShownField[]) =>
  Object.fromEntries(fields.map(({ json, schema }) => [json, schema]));

function showFields(fields: readonly ShownField[], execution: Execution): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const { json, show } of fields) shown[json] = show(execution);
  return shown;
}

/** Some of the fields, by their names. */
const selectFields = <Name extends keyof typeof coreFields>(...names: Name[]) => {
  const fields = names.flatMap(toShownFields);
  type Shape = ShownShape<Name>;
  return {
    shape: toShape(fields) as Shape,
    show: (execution: Execution) => showFields(fields, execution) as z.input<z.ZodObject<Shape>>,
  };
};

/** How a run ended, as `describe-run.ts` puts it into words. */
export const { show: showEnd } = selectFields(
  'reason',
  'exitCode',
  'signal',
  'durationMs',
  'cancelledBy',
  'limits',
);

/** What the answer to the call of a run has in common with its record. */
export const { shape: answeredShape, show: showAnswered } = selectFields(
  'id',
  'language',
  'stdout',
  'stderr',
  'exitCode',
  'signal',
  'durationMs',
  'timedOut',
  'truncated',
  'reason',
);

/** An execution, and what it printed from an offset on. */
export const makeFollowedShape = ({ shape }: RunRecord) =>
  shape.extend({
    output: z
      .object({ text: z.string(), from: z.number(), next: z.number(), end: z.number() })
      .nullable()
      .describe('What it printed, by offsets in characters: go on from next'),
    running_elsewhere: z.boolean().describe('It runs on another server of the same database'),
  });

export type RunWithOutput = z.output<ReturnType<typeof makeFollowedShape>>;

/** Executions in a list, with the start of their code. */
export const pageShape = z.object({
  executions: z.array(
    z.object({
      ...(toShape(listedShownFields) as ShownShape<keyof ListedExecution>),
      code: z.string().describe('Its first 200 characters; get_execution has all'),
    }),
  ),
  next: z.string().nullable(),
});

export type ListedRun = z.output<typeof pageShape>['executions'][number];

export function toExecutionPage({ executions, next }: FoundPage): z.input<typeof pageShape> {
  return {
    executions: executions.map((found) => showFields(listedShownFields, found as Execution)) as z.input<
      typeof pageShape
    >['executions'],
    next,
  };
}

const maxCodeBytes = 1024 ** 2;
/** With the code and the rest of a call it has to fit into a request, which may take 4 MB. */
const maxStdinBytes = 2 * 1024 ** 2;

/** The length first: a long text need not be encoded to be refused. */
const makeBoundedText = (bytes: number, message: string) =>
  z.string().refine((text) => text.length <= bytes && Buffer.byteLength(text) <= bytes, message);

export const codeText = makeBoundedText(
  maxCodeBytes,
  'code may have at most 1 MB; put data into stdin, or into a stored file that is named in files',
).refine((text) => text !== '', 'code must not be empty');

/** Of a call: fewer hosts than a run may reach. */
export const networkInput = z
  .array(z.string().min(1).max(300))
  .max(100)
  .optional()
  .describe('Only these of the hosts that may be reached; [] for none');

/** Of a call: the tools that the code may call. */
export const toolsInput = listAs(z.array(z.string().min(1).max(200)).max(100).optional(), {
  type: 'array',
  items: { type: 'string' },
  description: 'Tools for the code to call: names, search_*; from mcp.SERVER import NAME, see /tools/mcp',
});

export const stdinText = makeBoundedText(
  maxStdinBytes,
  'stdin may have at most 2 MB; send more as a file with request_upload, name its file_id in files and read it from the working directory',
);

export const filesInput = z
  .array(
    z.string().refine((id) => /^file_[0-9a-f]{24}$/.test(id), 'a file_id looks like file_ and 24 hex digits'),
  )
  .refine((ids) => ids.length <= 100, 'files may name at most 100')
  .optional()
  .describe('file_ids to put into the working directory');

export const executionId = z
  .string()
  .refine(
    (id) => executionIdForm.test(id),
    'an execution_id looks like exec_ and 12 hex digits; search_executions shows them',
  );

/** How long a run may take; the same in every tool that runs code. More than the most is the most. */
export const makeTimeout = ({ timeoutMs, maxTimeoutMs }: { timeoutMs: number; maxTimeoutMs: number }) =>
  listAs(z.number().int().min(1), {
    type: 'integer',
    description: `Default ${timeoutMs}, at most ${maxTimeoutMs}`,
  });

const timeForms = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
  z.iso.date(),
]);

/** A day is its start, in UTC. */
const timeSchema = z
  .string()
  .refine((text) => timeForms.safeParse(text).success, 'give a time such as 2026-01-31T12:00:00Z, or a day')
  .transform((text) => Date.parse(text));

const statuses = ['ok', 'failed', ...reasons] as const;

export const searchInput = z.strictObject({
  text: makeText(500, 'In the start of the code or output').optional(),
  language: z.enum(languages).optional(),
  status: z.enum(statuses).optional(),
  since: timeSchema.optional().describe('From then on: 2026-01-31, or 2026-01-31T12:00Z'),
  until: timeSchema.optional().describe('Before then'),
  limit: makeWholeNumber(1, 100, 'Default 20, at most 100').optional(),
  after: z
    .string()
    .refine((text) => cursorForm.test(text), 'after takes the `next` of the page before')
    .optional()
    .describe('The next of the page before'),
  before: z
    .string()
    .refine((text) => cursorForm.test(text), 'before takes a place such as the `next` of a page')
    .optional()
    .describe('Instead of after: the newer runs right before that place'),
});
