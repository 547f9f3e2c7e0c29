/**
 * The fields of an execution, in one table: their columns, when these are written, their names and types in JSON, and
 * who sees them. Extensions add their own (`FieldTables`). Rows, SQL, journal lines, the answers of tools and their
 * schemas are derived from it in `record.ts`. It runs no SQL.
 */
import { z } from 'zod';
import type { SqlValue } from '../../ports/database/database.ts';
import {
  endReasons,
  languages,
  type RunLimitSettings,
  type Sandbox,
  type TemporaryFiles,
} from '../../ports/sandbox/sandbox.ts';
import {
  differenceShape,
  noDifference,
  showDifference,
  type Difference,
  showTemporaryFiles,
  temporaryFilesShape,
} from './difference.ts';
import type { InputFileRecord } from './input-files.ts';
import { restoreResults, resultShape, showResult } from './results.ts';

/** `refused` is a run that never started. */
export const reasons = ['running', ...endReasons, 'refused'] as const;
export type Reason = (typeof reasons)[number];

/**
 * Why a run goes on without the call that began it: its caller asked for that, the call had lasted long enough, its
 * connection was lost and somebody asked for the run, or it is an MCP task.
 */
export const backgrounds = ['asked', 'detached', 'adopted', 'task'] as const;
export type Background = (typeof backgrounds)[number];

/** Who or what cancelled a run. */
const cancellers = [
  'client',
  'cancel_execution',
  'operator',
  'lost_connection',
  'removed_user',
  'stopped_server',
] as const;
export type CancelledBy = (typeof cancellers)[number];

/** Under which limits it ran, and what of them did not hold. */
export interface RunLimits extends RunLimitSettings {
  readonly timeoutMs: number;
  readonly sandbox: Sandbox['kind'];
  /** What ran it, such as `Python 3.11.2`; null if unknown. */
  readonly runtime: string | null;
  readonly unenforced: readonly string[];
}

const limitsShape = z.object({
  timeout_ms: z.number(),
  memory_bytes: z.number(),
  processes: z.number(),
  cpus: z.number(),
  file_bytes: z.number(),
  disk_bytes: z.number(),
  tmp_bytes: z.number(),
  sandbox: z.string(),
  runtime: z.string().nullable().describe('What ran it, where that is known'),
  unenforced: z.array(z.string()),
});

const inputShape = z.object({
  file_id: z.string().nullable(),
  origin: z
    .record(z.string(), z.string())
    .nullable()
    .describe('Where it came from, if not from a stored file'),
  name: z.string(),
  size: z.number(),
  sha256: z.string(),
});

/** What both databases take: PostgreSQL refuses NUL, and UTF-8 knows no half of a surrogate pair. */
export function toStorable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400');
}

/** When a column is written: with the row at the start, or with the end of the run. */
type Written = 'start' | 'end';

interface StoredField<T, Json extends string | null, Schema extends z.ZodType> {
  readonly column: string;
  readonly written: Written;
  readonly toSql: (value: T) => SqlValue;
  readonly fromSql: (value: SqlValue) => T;
  /** Its name in JSON; null: tools and routes do not show it. */
  readonly json: Json;
  readonly schema: Schema;
  readonly toJson: (value: T) => z.input<Schema>;
}

const passThrough = (value: unknown): never => value as never;

/** A value that is the same in the database, in memory and in JSON. */
export const makePlainField = <
  const Column extends string,
  Schema extends z.ZodType,
  const Json extends string = Column,
>(
  column: Column,
  written: Written,
  schema: Schema,
  json = column as string as Json,
): StoredField<z.output<Schema>, Json, Schema> => {
  return { column, written, toSql: passThrough, fromSql: passThrough, json, schema, toJson: passThrough };
};

const makeTextField = <const Column extends string>(column: Column, written: Written) => ({
  ...makePlainField(column, written, z.string()),
  toSql: toStorable,
});

export const makeFlagField = <const Column extends string>(column: Column, written: Written) => ({
  ...makePlainField(column, written, z.boolean()),
  toSql: (value: boolean) => (value ? 1 : 0),
  fromSql: (value: SqlValue) => value === 1,
});

const makeOutputFileField = <const Column extends string>(column: Column, stream: string) =>
  makePlainField(
    column,
    'end',
    z.string().nullable().describe(`The file_id of all of ${stream}, where it was cut`),
  );

/** In the row, and not in JSON. */
export const hideField = <T>(
  stored: StoredField<T, string, z.ZodType<T>>,
): StoredField<T, null, z.ZodNever> => {
  return { ...stored, json: null, schema: z.never(), toJson: passThrough };
};

/** Kept as JSON in its column. `restore` adds what rows of earlier releases lack. */
export const makeJsonField = <T, const Column extends string, Schema extends z.ZodType>(
  column: Column,
  written: Written,
  schema: Schema,
  restore: (parsed: T) => T,
  toJson: (value: T) => z.input<Schema>,
): StoredField<T, Column, Schema> => {
  const fromSql = (value: SqlValue): T => restore(JSON.parse(value as string) as T);
  return { column, written, toSql: JSON.stringify, fromSql, json: column, schema, toJson };
};

/** Shown beside the fields, and worked out of them. */
export interface DerivedField<Json extends string, Schema extends z.ZodType, From = never> {
  readonly column: null;
  readonly json: Json;
  readonly schema: Schema;
  readonly derive: (execution: From) => z.input<Schema>;
}

const timedOutField: DerivedField<'timed_out', z.ZodBoolean, { readonly reason: Reason }> = {
  column: null,
  json: 'timed_out',
  schema: z.boolean(),
  derive: ({ reason }) => reason === 'timeout',
};

/** In the order of JSON, which the bytes of journal lines depend on. */
export const coreFields = {
  id: makePlainField('id', 'start', z.string(), 'execution_id'),
  owner: hideField(makePlainField('owner', 'start', z.string())),
  /** Which tool asked for it. */
  tool: makePlainField('tool', 'start', z.string()),
  language: makePlainField('language', 'start', z.enum(languages)),
  code: makeTextField('code', 'start'),
  /** What it could read from its standard input. */
  stdin: hideField(makeTextField('stdin', 'start')),
  /** As it was given, which may not be how it could be stored. */
  stdinBytes: makePlainField('stdin_bytes', 'start', z.number().describe('How much it was given on stdin')),
  /** As seen inside. */
  workingDir: makeTextField('working_dir', 'start'),
  reason: makePlainField('reason', 'end', z.enum(reasons), 'end_reason'),
  succeeded: makeFlagField('succeeded', 'end'),
  exitCode: makePlainField('exit_code', 'end', z.number().nullable()),
  signal: makePlainField('signal', 'end', z.string().nullable()),
  timedOut: timedOutField,
  startedAt: {
    ...hideField(makePlainField('started_at', 'start', z.number())),
    json: 'started_at' as const,
    schema: z.string(),
    toJson: (value: number) => new Date(value).toISOString(),
  },
  durationMs: makePlainField('duration_ms', 'end', z.number().nullable()),
  /** As shown: cut where it was too long, and then there is a file with the whole. */
  stdout: makeTextField('stdout', 'end'),
  stderr: makeTextField('stderr', 'end'),
  stdoutBytes: makePlainField('stdout_bytes', 'end', z.number()),
  stderrBytes: makePlainField('stderr_bytes', 'end', z.number()),
  truncated: makeFlagField('truncated', 'end'),
  stdoutFile: makeOutputFileField('stdout_file', 'stdout'),
  stderrFile: makeOutputFileField('stderr_file', 'stderr'),
  /** What it came to, as a notebook shows it. */
  results: makeJsonField(
    'results',
    'end',
    z.array(resultShape).describe('Values, displays and figures'),
    restoreResults,
    (results) => results.map(showResult),
  ),
  moreResults: makePlainField(
    'more_results',
    'end',
    z.number().int().describe('Results that were only counted'),
  ),
  artifacts: makeJsonField(
    'artifacts',
    'end',
    differenceShape,
    (parsed: Difference): Difference => ({ ...noDifference, ...parsed }),
    showDifference,
  ),
  /** Null where nobody could look, and in rows of earlier releases. */
  temporaryFiles: makeJsonField(
    'temporary_files',
    'end',
    temporaryFilesShape,
    (parsed: TemporaryFiles | null) => parsed,
    showTemporaryFiles,
  ),
  /** Files that it was given. */
  inputs: makeJsonField(
    'inputs',
    'start',
    z.array(inputShape),
    (parsed: readonly InputFileRecord[]): readonly InputFileRecord[] =>
      parsed.map((file) => ({ ...file, origin: file.origin ?? null })),
    (files) => files.map(showInput),
  ),
  limits: makeJsonField(
    'limits',
    'start',
    limitsShape,
    (parsed: RunLimits): RunLimits => ({ ...parsed, runtime: parsed.runtime ?? null }),
    showLimits,
  ),
  /** The session of which it was a cell, its number there, and whether the session had its state afterwards. */
  sessionId: makePlainField('session_id', 'start', z.string().nullable()),
  cell: makePlainField('cell', 'start', z.number().nullable()),
  state: makePlainField('state', 'end', z.enum(['kept', 'lost']).nullable()),
  background: makePlainField(
    'background',
    'start',
    z.enum(backgrounds).nullable().describe('Why it went on without the call that began it'),
  ),
  cancelledBy: makePlainField('cancelled_by', 'end', z.enum(cancellers).nullable()),
  /** Null where nobody counted. */
  peakMemoryBytes: makePlainField(
    'peak_memory_bytes',
    'end',
    z.number().nullable().describe('The most memory that it used at one time'),
  ),
  /** The trace or agent that its client named. */
  traceId: makePlainField('trace_id', 'start', z.string().nullable().describe('As the client gave it')),
  /** Null while it runs, and in rows of earlier releases. */
  endedAt: hideField(makePlainField('ended_at', 'end', z.number().nullable())),
};

/**
 * The fields that extensions add: each declares its table here, by merging with this interface, as it hands the table in
 * (`extension.ts`). So the types of the record know them, and this room does not.
 */
export interface FieldTables {
  readonly core: typeof coreFields;
}

type Intersect<T> = (T extends unknown ? (value: T) => void : never) extends (value: infer All) => void
  ? All
  : never;

export type FieldTable = Intersect<FieldTables[keyof FieldTables]>;

type StoredName = {
  [K in keyof FieldTable]: FieldTable[K] extends { readonly column: null } ? never : K;
}[keyof FieldTable];

/** One bounded run of code: what was asked for, and what came of it. */
export type Execution = {
  readonly [K in StoredName]: FieldTable[K] extends { readonly fromSql: (value: SqlValue) => infer T }
    ? T
    : never;
};

/** The fields of an execution in a list, where of its code only the start is shown. */
export const listedFields = [
  'id',
  'tool',
  'language',
  'code',
  'reason',
  'succeeded',
  'exitCode',
  'startedAt',
  'durationMs',
] as const satisfies StoredName[];

export type ListedExecution = Pick<Execution, (typeof listedFields)[number]>;

type ShownName<K extends keyof FieldTable> = K extends keyof FieldTable
  ? FieldTable[K] extends { readonly json: string }
    ? K
    : never
  : never;

/** The names and schemas of fields in JSON. */
export type ShownShape<K extends keyof FieldTable> = {
  [
    Name in ShownName<K> as FieldTable[Name] extends { readonly json: infer Json extends string }
      ? Json
      : never
  ]: FieldTable[Name] extends { readonly schema: infer Schema extends z.ZodType } ? Schema : never;
};

function showInput({ fileId, origin, name, size, sha256 }: InputFileRecord): z.input<typeof inputShape> {
  return { file_id: fileId, origin: origin && { ...origin }, name, size, sha256 };
}

function showLimits(limits: RunLimits): z.input<typeof limitsShape> {
  return {
    timeout_ms: limits.timeoutMs,
    memory_bytes: limits.memoryBytes,
    processes: limits.processes,
    cpus: limits.cpus,
    file_bytes: limits.fileBytes,
    disk_bytes: limits.diskBytes,
    tmp_bytes: limits.tmpBytes,
    sandbox: limits.sandbox,
    runtime: limits.runtime,
    unenforced: [...limits.unenforced],
  };
}
