/**
 * What a feature may add to a run. `execute.ts` knows no feature by name: at each stage it asks the extensions, in the
 * order of the list that `server/` hands in.
 */
import type { z } from 'zod';
import type { WorkcrateError } from '../../platform/errors.ts';
import type { Queries } from '../../ports/database/database.ts';
import type { Report, RunNetwork, RunTools, Sandbox, Workspace } from '../../ports/sandbox/sandbox.ts';
import type { Caller } from '../identity.ts';
import type { ToolContext } from '../offer/tool.ts';
import type { Toolbox } from '../offer/toolbox.ts';
import type { Comparison, EndedComparison } from './difference.ts';
import type { ExecutionRequest } from './execute.ts';
import type { Execution } from './fields.ts';
import type { InputFileRecord } from './input-files.ts';
import type { RunUnderWay } from './live.ts';
import type { RunOutputs } from './output.ts';
import type { RunResults } from './results.ts';

import type { ForgottenRun } from './store.ts';
import type { InsideFolder } from './working-dir.ts';

export type { RunOutput, RunOutputs } from './output.ts';
export type { RunResults } from './results.ts';

/** What a feature does with every run. */
export interface RunExtension {
  /**
   * Judges code before anything is made ready for it; null where it has nothing to say. `execution` is null where a call
   * asks before it asks its client for anything: then the run of it is not judged again.
   */
  judge?(caller: Caller, asked: JudgedRequest, execution: string | null): Promise<RunJudgement | null>;
  /** What it gives to a run; null: nothing. Rejects where the run may not be, and then nothing is recorded. */
  prepare?(run: PreparingRun): Promise<RunPart | null> | RunPart | null;
  /** Told of a run that has ended and is recorded. */
  noteEnded?(execution: Execution): void;
  /** Tidies up behind rows that were deleted. */
  forget?(gone: readonly ForgottenRun[]): Promise<void>;
  /** Called every so often. */
  sweep?(): Promise<void>;
}

/** The tools that a run asks for. */
export interface RequestedTools {
  /** Names, and patterns of names, as execute_code takes them. */
  readonly granted: readonly string[];
  readonly toolbox: Toolbox;
  /** Of the call that begins the run. */
  readonly context: ToolContext;
}

/** What is known of a run before it begins. */
export type JudgedRequest = Pick<ExecutionRequest, 'tool' | 'language' | 'code' | 'stdin' | 'client'> &
  Partial<Pick<ExecutionRequest, 'workingDir' | 'network' | 'others'>>;

export interface RunJudgement {
  /** Why nothing runs; the run is recorded as refused. Null: it may run. */
  readonly refusal: WorkcrateError | null;
  /** For its record. */
  readonly fields: Partial<Execution>;
}

/** A run that is allowed, and for which nothing was made yet. */
export interface PreparingRun {
  readonly id: string;
  readonly caller: Caller;
  readonly request: ExecutionRequest;
  readonly sandbox: Sandbox;
  readonly place: Workspace;
  /** The user's own folders, where `place` is that of a session that was replayed. */
  readonly home: Workspace;
  /** As seen inside. */
  readonly workingDir: string;
  readonly underWay: Pick<RunUnderWay, 'questions' | 'signal'>;
}

/**
 * What an extension has to do with one run. It is disposed of when the code is over, or will not run; that may happen
 * twice, and `finish` comes after it.
 */
export interface RunPart extends Partial<Disposable> {
  /** Fields of its row from the beginning on. */
  readonly fields?: Partial<Execution>;
  /** Writes more in the transaction of the row. */
  writeBegin?(queries: Queries, begun: Execution): Promise<void>;
  /** Its way out. */
  readonly network?: RunNetwork | null;
  /** What its code may call. */
  readonly tools?: RunTools | null;
  /** Sees all output before anybody else does. */
  readonly gate?: OutputGate | null;
  /** Looks at its folders before the code starts: before the row, or where it is a cell, when its turn has come. */
  look?(starting: StartingRun): Promise<void>;
  /** Takes the reports of the run one after the other, those of other kinds too. */
  take?(report: Report): void | Promise<void>;
  /**
   * What the record is to have of it. `ended` is null where the code did not start, or was not followed to its end. Does
   * not reject: nothing may cost anybody the result.
   */
  finish?(begun: Execution, ended: EndedRun | null): Promise<RecordedPart> | RecordedPart;
}

/** A run whose code is about to start. */
export interface StartingRun {
  readonly comparison: Comparison;
  readonly folder: InsideFolder;
  /** Files that were put into the folder for it. */
  readonly given: readonly InputFileRecord[];
}

/** A run whose code is over. */
export interface EndedRun {
  /** Null where its folders could not be compared. */
  readonly compared: EndedComparison | null;
}

/** What comes into the record with the end of a run. */
export interface RecordedPart {
  readonly fields?: Partial<Execution>;
  /** Writes more in the transaction of the end. If that fails the end is written all the same. */
  write?(queries: Queries, ended: Execution): Promise<void>;
  /** Told where it could not be written. */
  failed?(error: unknown): void;
}

/** Holds back what a run prints until the run is over, and decides what of it is shown, recorded and stored. */
export interface OutputGate {
  /** Told in place of the output while it runs. */
  readonly notice: string;
  /** The same bytes, which are to be stored as a file. Fails where they may not be. */
  checkStream(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Rejects where this part of a result may not be stored. */
  checkPart(mime: string, bytes: Uint8Array): Promise<void>;
  /** What may be shown and recorded of all that is not a file. */
  finish(outputs: RunOutputs, results: RunResults): Promise<{ outputs: RunOutputs; results: RunResults }>;
}

/**
 * What an extension adds to the record of runs, and to what is told of them. It is said before anything is open: tools
 * have their schemas from it.
 */
export interface RunRecordPart {
  /** Merged with `FieldTables` for their types. */
  readonly fields: Readonly<Record<string, ExtensionField>>;
  /** Fields of the answer to the call that ran the code. */
  readonly answer?: Readonly<Record<string, AnswerField>>;
  /** In a line each. */
  describe?(execution: Execution, section: RunSection): readonly string[];
}

/** Behind which field of the core it stands, and what else is known of a field (`fields.ts`). */
export interface ExtensionField {
  readonly after: string;
  readonly column: string | null;
  readonly json: string | null;
  readonly schema: z.ZodType;
  /** Of a run of which nothing is known yet. A field that is worked out of others has none. */
  readonly initial?: unknown;
  /** Left out of lines of the journal that have to be short. */
  readonly isLong?: boolean;
  /** What it takes in the row where that counts, as SQL, and roughly, of the value. */
  readonly sizeSql?: string;
  countBytes?(value: never): number;
  /** Whether `forget` is told of it when its row is deleted. */
  readonly isForgotten?: boolean;
}

/** A field of an answer. */
export interface AnswerField {
  readonly schema: z.ZodType;
  /** Null leaves it out. Throws where the call has to fail. */
  show(execution: Execution): unknown;
}

/**
 * What of a run is told: what it read, how it ended, what else there is to say in the answer to its call, in its record,
 * and while it goes on.
 */
export type RunSection = 'inputs' | 'end' | 'answer' | 'record' | 'running';

/** What all extensions say of code, in their order, until one refuses it. */
export async function judgeRun(
  extensions: readonly RunExtension[],
  caller: Caller,
  asked: JudgedRequest,
  execution: string | null,
): Promise<RunJudgement | null> {
  const fields: Partial<Execution> = {};
  let isJudged = false;
  for (const { judge } of extensions) {
    const own = judge === undefined ? null : await judge(caller, asked, execution);
    if (own === null) continue;
    isJudged = true;
    Object.assign(fields, own.fields);
    if (own.refusal !== null) return { refusal: own.refusal, fields };
  }
  return isJudged ? { refusal: null, fields } : null;
}

/** The parts of all extensions in one run. */
export interface RunParts extends Disposable {
  readonly all: readonly RunPart[];
  readonly fields: Partial<Execution>;
  readonly network: RunNetwork | null;
  readonly tools: RunTools | null;
  readonly gates: readonly OutputGate[];
}

/** Asks all extensions, one after the other. Where one refuses, what the others gave is taken back. */
export async function prepareParts(
  extensions: readonly RunExtension[],
  run: PreparingRun,
): Promise<RunParts> {
  const { part: asked } = run.request;
  const all: RunPart[] = asked === undefined ? [] : [asked];
  const dispose = (): void => {
    for (const part of all) part[Symbol.dispose]?.();
  };
  try {
    for (const { prepare } of extensions) {
      const part = prepare === undefined ? null : await prepare(run);
      if (part !== null) all.push(part);
    }
  } catch (error) {
    dispose();
    throw error;
  }
  return {
    all,
    fields: Object.assign({}, ...all.map(({ fields }) => fields)) as Partial<Execution>,
    network: all.find(({ network }) => network)?.network ?? null,
    tools: all.find(({ tools }) => tools)?.tools ?? null,
    gates: all.flatMap(({ gate }) => gate ?? []),
    [Symbol.dispose]: dispose,
  };
}
