/**
 * The tool calls of a run that is replayed: read from the crate, as a toolbox that answers as the first time, and
 * compared with those that the code makes now. It trusts nothing in the crate.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import { maxOfferedTools, offeredToolShape, type RecordedTool } from '../code-mode/offered-tool.ts';
import type { Toolbox } from '../../core/offer/toolbox.ts';
import {
  createLiveToolbox,
  createRecordedToolbox,
  diffCalls,
  type CallDiff,
  type ComparedCall,
  type ReplayedCall,
} from '../code-mode/recorded.ts';
import type { Language, RunRequest, Sandbox, Workspace } from '../../ports/sandbox/sandbox.ts';
import type { CrateMetadata, Entity } from '../crates/crate.ts';
import { entityIdToPath } from '../crates/metadata/metadata.ts';
import { callPropertyNames } from './call-entities.ts';
import { toolsFileName } from './gather-calls.ts';
import {
  getEntityTargets,
  getEntityText,
  readRecordedHash,
  readRunProperty,
  type PlannedText,
} from './replay-plan.ts';

/** A call whose arguments and result are files of the crate. */
export interface PlannedCall extends Omit<ReplayedCall, 'result'> {
  /** Null if it had none, or the crate has only its hash. */
  readonly resultFile: PlannedText | null;
}

export interface PlannedCalls {
  /** In their order. */
  readonly calls: readonly PlannedCall[];
  /** The tools that the code could call; null if it could call none. */
  readonly toolsFile: PlannedText | null;
}

/** Far more than the budget of a run. */
const maxPlannedCalls = 10_000;

/** The calls of a run, by the identifier of its action. */
export function planCalls({ entities, ...rest }: CrateMetadata, action: Entity): PlannedCalls {
  const metadata = { entities, ...rest };
  const run = getEntityText(action, 'identifier');
  const isCall = (entity: Entity): boolean =>
    entity.types.includes('ActivateAction') &&
    run !== null &&
    readRunProperty(metadata, entity, callPropertyNames.run) === run;
  const calls = entities
    .filter(isCall)
    .slice(0, maxPlannedCalls)
    .map((entity) => planCall(metadata, entity));
  const toolsFile = entities.find(
    (entity) =>
      entity.id.endsWith(`calls/${toolsFileName}`) &&
      getEntityTargets(metadata, entity, 'about').includes(action),
  );
  return {
    calls: calls.toSorted((one, other) => one.sequence - other.sequence),
    toolsFile: toolsFile === undefined ? null : toPlannedText(toolsFile),
  };
}

const callOutcomeShape = z.enum(['ok', 'error', 'refused', 'cancelled']);

function planCall(metadata: CrateMetadata, entity: Entity): PlannedCall {
  const [tool] = getEntityTargets(metadata, entity, 'instrument');
  const [given] = getEntityTargets(metadata, entity, 'object');
  const [result] = getEntityTargets(metadata, entity, 'result');
  const name = tool && getEntityText(tool, 'name');
  const argumentsHash = given && readRecordedHash(given);
  const read = (property: string) => readRunProperty(metadata, entity, property);
  const outcome = callOutcomeShape.safeParse(read(callPropertyNames.outcome));
  if (!name || !argumentsHash || !outcome.success)
    throw new WorkcrateError(
      'unsupported',
      `This crate cannot be run again: its tool call ${JSON.stringify(entity.id.slice(0, 100))} does not name a tool, the hash of its arguments and its outcome.`,
    );
  return {
    sequence: Number(read(callPropertyNames.sequence)) || 0,
    tool: name,
    definitionHash: read(callPropertyNames.definition),
    argumentsHash,
    resultHash: result === undefined ? null : readRecordedHash(result),
    resultFile: result === undefined ? null : toPlannedText(result),
    outcome: outcome.data,
    error: getEntityText(entity, 'error'),
  };
}

function toPlannedText(entity: Entity): PlannedText | null {
  const path = entityIdToPath(entity.id);
  return path === null ? null : { path, sha256: readRecordedHash(entity) };
}

/** Reads a text file of the crate, verified by its hash and bounded. */
export type ReadPlannedText = (file: PlannedText) => Promise<string>;

const callContentShape = z.looseObject({ content: z.array(z.looseObject({ type: z.string() })) });
const toolsShape = z.array(offeredToolShape).max(maxOfferedTools);

/** What was recorded of a run, with the results that the crate has. */
async function readPlannedCalls(
  { calls, toolsFile }: PlannedCalls,
  read: ReadPlannedText,
): Promise<{ calls: ReplayedCall[]; tools: RecordedTool[] }> {
  const replayed: ReplayedCall[] = [];
  for (const { resultFile, ...call } of calls) {
    const result =
      resultFile &&
      (parseFile(resultFile, await read(resultFile), callContentShape) as ReplayedCall['result']);
    replayed.push({ ...call, result });
  }
  const tools = toolsFile === null ? [] : parseFile(toolsFile, await read(toolsFile), toolsShape);
  return { calls: replayed, tools };
}

function parseFile<T>({ path }: PlannedText, text: string, shape: z.ZodType<T>): T {
  const parsed = shape.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new WorkcrateError(
    'unsupported',
    `This crate cannot be run again: ${JSON.stringify(path.slice(0, 200))} is not what a tool call leaves.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Where the code of a replayed run finds its tools. */
export interface ReplayTools {
  /** The real tools; null for the answers that the crate has. */
  readonly live: Toolbox | null;
  /** Lets the code of one run call all tools of a toolbox. */
  open(toolbox: Toolbox, run: ReplayedRun): Promise<OpenReplayTools>;
}

export interface ReplayedRun {
  readonly language: Language;
  readonly workingDir: string;
  readonly place: Workspace;
  readonly sandbox: Sandbox;
  readonly signal: AbortSignal;
}

export interface OpenReplayTools {
  /** What the sandbox needs to know of them. */
  readonly request: Pick<RunRequest, 'tools'>;
  /** The calls that the code made. After it, it can make no more. */
  end(): readonly ComparedCall[];
}

/** The tools of a step, and what differs once it has run. */
export interface StepTools {
  readonly request: Pick<RunRequest, 'tools'>;
  compare(): CallDiff[];
}

/** Without tools, what was recorded is missing. */
export async function openStepTools(
  planned: PlannedCalls,
  tools: ReplayTools | null,
  run: ReplayedRun,
  read: ReadPlannedText,
): Promise<StepTools> {
  const none = { request: { tools: null }, compare: () => diffCalls(planned.calls, []) };
  if (tools === null || planned.toolsFile === null) return none;
  const recorded = await readPlannedCalls(planned, read);
  if (recorded.tools.length === 0) return none;
  const toolbox =
    tools.live === null
      ? createRecordedToolbox(recorded.calls, recorded.tools)
      : createLiveToolbox(tools.live, recorded.tools);
  const opened = await tools.open(toolbox, run);
  return { request: opened.request, compare: () => diffCalls(planned.calls, opened.end()) };
}
