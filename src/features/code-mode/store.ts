/**
 * The record of calls: noted while a run is under way, written together with its end, deleted with its row. It calls no
 * tool and decides nothing. Large arguments and results are kept as their hashes.
 */
import type { Database, Queries, Row } from '../../ports/database/database.ts';
import { toSortedJson, type ToolDefinition } from '../../core/offer/toolbox.ts';
import {
  summarizeCalls,
  type CallInShort,
  type CallSummary,
  type CallRecorder,
  type ToolCall,
} from './runs.ts';
import { shortenDefinitions, type RecordedTool } from './offered-tool.ts';

export type RunOfCalls = Parameters<CallRecorder['note']>[0];

/** A call as it was kept. */
export interface RecordedCall extends Omit<ToolCall, 'arguments'> {
  /** Null where they were too large: only their hash is kept. */
  readonly arguments: ToolCall['arguments'] | null;
}

/** What is kept of the tools of a run. */
export interface RunCallRecord {
  /** In order. */
  readonly calls: readonly RecordedCall[];
  /** The tools that it could call. */
  readonly tools: readonly RecordedTool[];
}

/** What was noted of a run that ends. */
export interface EndedCalls {
  readonly summary: CallSummary;
  /** What they take in the database. */
  readonly bytes: number;
  /** Writes them. The row of the run has to be there. */
  write(queries: Queries): Promise<void>;
}

export interface CallStore extends CallRecorder {
  /** Says which tools the code of a run can call. */
  offer(execution: RunOfCalls, definitions: readonly ToolDefinition[]): void;
  /** Takes what was noted of a run; null where nothing was. A second time there is nothing left. */
  end(executionId: string): EndedCalls | null;
}

export interface CallStoreOptions {
  /** Told of each call at once, for the audit log. */
  readonly noted: (execution: RunOfCalls, call: ToolCall) => void;
}

/** In JSON. What is larger is kept as its hash. */
export const maxKeptArgumentBytes = 64 * 1024;
export const maxKeptResultBytes = 256 * 1024;
/** Of all calls of one run; from there on only hashes are kept. */
export const maxKeptRunBytes = 8 * 1024 ** 2;
/** Of one run, far beyond the budget of calls. */
const maxNotedCalls = 10_000;
const maxKeptErrorLength = 2000;
const maxKeptNameLength = 200;
/** What a row takes beside its texts, roughly. */
const callRowBytes = 600;

interface CallRow {
  readonly sequence: number;
  readonly facts: string;
  readonly arguments: string | null;
  readonly result: string | null;
}

interface NotedRun {
  readonly rows: CallRow[];
  readonly inShort: CallInShort[];
  definitions: readonly ToolDefinition[];
  /** Also of calls that are not kept. */
  count: number;
  bytes: number;
}

export function createCallStore({ noted }: CallStoreOptions): CallStore {
  const runs = new Map<string, NotedRun>();

  function findRun(id: string): NotedRun {
    const run = runs.get(id) ?? { rows: [], inShort: [], definitions: [], count: 0, bytes: 0 };
    runs.set(id, run);
    return run;
  }

  return {
    offer({ id }, definitions) {
      findRun(id).definitions = definitions;
    },

    async note(execution, call) {
      noted(execution, call);
      const run = findRun(execution.id);
      run.count++;
      if (run.rows.length >= maxNotedCalls) return;
      const row = toCallRow(call, maxKeptRunBytes - run.bytes);
      run.rows.push(row);
      run.bytes += countRowBytes(row);
      const { tool, outcome, ms } = call;
      run.inShort.push({ tool, outcome, ms });
    },

    end(executionId) {
      const run = runs.get(executionId);
      if (run === undefined) return null;
      runs.delete(executionId);
      const called = new Set(run.inShort.map(({ tool }) => tool));
      const definitions = JSON.stringify(shortenDefinitions(run.definitions, called));
      return {
        summary: summarizeCalls(run.inShort, run.count),
        bytes: run.bytes + Buffer.byteLength(definitions),
        async write(queries) {
          await insertCalls(queries, executionId, run.rows);
          await queries.query(
            `INSERT INTO offered_tools (execution_id, definitions) VALUES (?, ?)
             ON CONFLICT (execution_id) DO NOTHING`,
            executionId,
            definitions,
          );
        },
      };
    },
  };
}

function toCallRow({ arguments: given, result, ...call }: ToolCall, bytesLeft: number): CallRow {
  const facts = {
    ...call,
    server: call.server.slice(0, maxKeptNameLength),
    tool: call.tool.slice(0, maxKeptNameLength),
    error: call.error === null ? null : call.error.slice(0, maxKeptErrorLength),
  };
  const keptArguments = keepIfSmall(given, Math.min(maxKeptArgumentBytes, bytesLeft));
  const left = bytesLeft - (keptArguments?.length ?? 0);
  const keptResult = result === null ? null : keepIfSmall(result, Math.min(maxKeptResultBytes, left));
  // JSON has escapes for what PostgreSQL does not take, such as NUL.
  const { sequence } = call;
  return { sequence, facts: JSON.stringify(facts), arguments: keptArguments, result: keptResult };
}

function keepIfSmall(value: unknown, most: number): string | null {
  const text = toSortedJson(value);
  return Buffer.byteLength(text) <= most ? text : null;
}

const countRowBytes = ({ facts, arguments: given, result }: CallRow): number =>
  callRowBytes + [facts, given ?? '', result ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);

/** SQLite takes 32,766 values, PostgreSQL twice as many. */
const callRowsAtOnce = 500;

async function insertCalls(queries: Queries, executionId: string, rows: readonly CallRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += callRowsAtOnce) {
    const some = rows.slice(at, at + callRowsAtOnce);
    await queries.query(
      `INSERT INTO tool_calls (execution_id, sequence, facts, arguments, result)
       VALUES ${some.map(() => '(?, ?, ?, ?, ?)').join(', ')} ON CONFLICT (execution_id, sequence) DO NOTHING`,
      ...some.flatMap((row) => [executionId, row.sequence, row.facts, row.arguments, row.result]),
    );
  }
}

/** The calls of a run. Whoever asks has made sure that the run is the caller's. */
export async function readCallRecord(database: Database, executionId: string): Promise<RunCallRecord> {
  const rows = await database.query<CallRow & Row>(
    'SELECT sequence, facts, arguments, result FROM tool_calls WHERE execution_id = ? ORDER BY sequence',
    executionId,
  );
  const [offered] = await database.query<{ definitions: string }>(
    'SELECT definitions FROM offered_tools WHERE execution_id = ?',
    executionId,
  );
  const tools = offered === undefined ? [] : (JSON.parse(offered.definitions) as RecordedTool[]);
  return { calls: rows.map(fromCallRow), tools };
}

function fromCallRow(row: CallRow): RecordedCall {
  return {
    ...(JSON.parse(row.facts) as Omit<ToolCall, 'arguments' | 'result'>),
    arguments: row.arguments === null ? null : (JSON.parse(row.arguments) as ToolCall['arguments']),
    result: row.result === null ? null : (JSON.parse(row.result) as ToolCall['result']),
  };
}
