/**
 * The record of runs, made of the fields of this room and those of extensions: how it is written to rows and read again,
 * and how it is shown as JSON and told in lines. It writes no journal lines, and finds nothing (`store.ts`).
 */
import { z } from 'zod';
import type { Database, Queries, Row, SqlValue } from '../../ports/database/database.ts';
import { unseenDifference } from './difference.ts';
import type { RunRecordPart, RunSection } from './extension.ts';
import { coreFields, type Execution, type FieldTable, type ShownShape } from './fields.ts';
import { toHaystack } from './store.ts';

/** What all fields have in common, where they are gone through. */
interface AnyField {
  readonly name: string;
  readonly column: string | null;
  readonly written: 'start' | 'end';
  readonly toSql: (value: unknown) => SqlValue;
  readonly fromSql: (value: SqlValue) => unknown;
  readonly json: string | null;
  readonly schema: z.ZodType;
  readonly toJson: (value: unknown) => unknown;
  readonly derive: (execution: Execution) => unknown;
  /** Of those of extensions. */
  readonly initial?: unknown;
  readonly isLong?: boolean;
  readonly sizeSql?: string;
  readonly countBytes?: (value: unknown) => number;
  readonly isForgotten?: boolean;
}

type Values = Readonly<Record<string, unknown>>;

/** Those of extensions behind those of the core, as they say themselves. */
function arrangeFields(parts: readonly RunRecordPart[]): AnyField[] {
  const further = parts.flatMap(({ fields }) => Object.entries(fields));
  return Object.entries(coreFields).flatMap(([name, field]) =>
    [[name, field] as const, ...further.filter(([, { after }]) => after === name)].map(
      ([own, one]) => ({ ...one, name: own }) as unknown as AnyField,
    ),
  );
}

export type RunRecord = ReturnType<typeof createRunRecord>;

export function createRunRecord(parts: readonly RunRecordPart[]) {
  const fields = arrangeFields(parts);
  const shown = fields.filter(({ json }) => json !== null);
  const show = ({ name, column, toJson, derive }: AnyField, execution: Execution): unknown =>
    column === null ? derive(execution) : toJson((execution as Values)[name]);
  const initial = Object.fromEntries(
    fields.flatMap((field) => ('initial' in field ? [[field.name, field.initial]] : [])),
  ) as Partial<Execution>;
  const shape = toShape(shown);
  return {
    ...createRows(fields.filter(({ column }) => column !== null)),

    /** An execution as tools and routes show it. */
    shape,

    show(execution: Execution): z.input<typeof shape> {
      const all: Record<string, unknown> = {};
      for (const field of shown) all[field.json!] = show(field, execution);
      return all as z.input<typeof shape>;
    },

    /** What the fields of extensions have of a run of which nothing is known yet. */
    initial,

    /** In place of fields that may be long, where all is to be short. */
    brief: Object.fromEntries(
      shown.flatMap((field) => (field.isLong ? [[field.json!, show(field, initial as Execution)]] : [])),
    ) as Record<string, unknown>,

    /** What fields of extensions take in the row: as SQL, and roughly. */
    sizeSql: fields.map(({ sizeSql }) => (sizeSql === undefined ? '' : ` + ${sizeSql}`)).join(''),
    countBytes: (execution: Execution): number =>
      fields.reduce((sum, { name, countBytes }) => sum + (countBytes?.((execution as Values)[name]) ?? 0), 0),

    /** Columns of extensions that are read when a row is deleted. */
    forgottenColumns: fields.flatMap(({ column, isForgotten }) => (isForgotten ? [column!] : [])),

    /** What extensions tell of a run, in a line each. */
    describe: (execution: Execution, section: RunSection): string[] =>
      parts.flatMap(({ describe }) => describe?.(execution, section) ?? []),

    /** What extensions add to the answer of the call that ran the code. Throws where that has to fail. */
    answer: createAnswerFields(parts),
  };
}

// In the schema, `inputs` has always been before `artifacts`.
function toShape(fields: readonly AnyField[]) {
  const entries = fields.map(({ json, schema }): [string, z.ZodType] => [json!, schema]);
  const all = Object.fromEntries(entries) as ShownShape<keyof FieldTable>;
  const { artifacts, limits, ...others } = all;
  return z.object({ ...others, artifacts, limits });
}

function createAnswerFields(parts: readonly RunRecordPart[]) {
  const fields = parts.flatMap(({ answer = {} }) => Object.entries(answer));
  return {
    shape: Object.fromEntries(fields.map(([name, { schema }]) => [name, schema.optional()])),
    show(execution: Execution): Record<string, unknown> {
      const all: Record<string, unknown> = {};
      for (const [name, { show }] of fields) {
        const value = show(execution);
        if (value !== null) all[name] = value;
      }
      return all;
    },
  };
}

/** How a run is written to its row, and read from it. */
function createRows(fields: readonly AnyField[]) {
  const start = fields.filter(({ written }) => written === 'start');
  const end = fields.filter(({ written }) => written === 'end');
  const all = [...start, ...end];
  const toColumns = (chosen: readonly AnyField[]): string => chosen.map(({ column }) => column).join(', ');
  const toMarks = (chosen: readonly AnyField[]): string => chosen.map(() => '?').join(', ');
  const toValues = (chosen: readonly AnyField[], execution: Execution): SqlValue[] =>
    chosen.map(({ name, toSql }) => toSql((execution as Values)[name]));

  const insertSql = `INSERT INTO executions (${toColumns(start)}, haystack, server, seen_at, reason, succeeded)
     VALUES (${toMarks(start)}, ?, ?, @now, 'running', 0) ON CONFLICT (id) DO NOTHING`;
  const upsertSql = `INSERT INTO executions (${toColumns(all)}, haystack, server)
     VALUES (${toMarks(all)}, ?, ?)
     ON CONFLICT (id) DO UPDATE SET ${end.map(({ column }) => `${column} = excluded.${column}`).join(', ')}
     WHERE executions.reason = 'running' RETURNING id`;
  const updateSql = `UPDATE executions SET ${end.map(({ column }) => `${column} = ?`).join(', ')}, haystack = ?
     WHERE id = ? AND (reason = 'running' OR (reason = ? AND ended_at = ?)) RETURNING id`;

  return {
    /** Of a run that its server left behind, the row has no changes of files, since nobody saw them. */
    fromRow(row: Row): Execution {
      const found: Record<string, unknown> = {};
      for (const { name, column, fromSql } of fields) found[name] = fromSql(row[column!]!);
      const execution = found as Execution;
      const isUnseen = execution.reason === 'lost' && execution.durationMs === null;
      return isUnseen ? { ...execution, artifacts: unseenDifference } : execution;
    },

    /**
     * `server` is the id of the server that runs it: the others leave it alone, and its lines are written there. The first
     * sign of life is by the clock that they share. Twice is as good as once: an insert that failed may have been written.
     */
    async insertRunning(
      queries: Queries,
      execution: Execution,
      server: string,
      sharedClock: Database['sharedClock'] = null,
    ): Promise<void> {
      const sql = insertSql.replace('@now', sharedClock ?? 'NULL');
      await queries.query(sql, ...toValues(start, execution), toHaystack(execution), server);
    },

    /**
     * The end of a run that never began, for a row that may be there or come later: this one then keeps it out. Gives
     * whether it has this end.
     */
    async upsertEnded(queries: Queries, execution: Execution, server: string): Promise<boolean> {
      const values = [...toValues(all, execution), toHaystack(execution), server];
      return (await queries.query(upsertSql, ...values)).length > 0;
    },

    /**
     * Gives whether the row has this end now. It has not where there is no such row, or where it was found lost meanwhile:
     * an end is never replaced by another. To write the same end twice is allowed, since the first answer may be lost.
     */
    async updateEnded(queries: Queries, execution: Execution): Promise<boolean> {
      const { id, reason, endedAt } = execution;
      const values = toValues(end, execution);
      const rows = await queries.query(updateSql, ...values, toHaystack(execution), id, reason, endedAt);
      return rows.length > 0;
    },
  };
}
