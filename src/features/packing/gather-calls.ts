/** Collects the tools that the code of a run called: each call with its arguments and its result as files. */
import { hashDefinition, toSortedJson } from '../../core/offer/toolbox.ts';
import type { RunCallRecord, RecordedCall } from '../code-mode/store.ts';
import type { ChainStep } from './chain.ts';
import { addTextFile, type PackCollector } from './gather.ts';
import type { FileOfRun, PackedCall, PackedFile } from './packed.ts';

export interface PackedCalls {
  readonly calls: readonly PackedCall[];
  /** The definitions of the tools that it could call; null where it could call none. */
  readonly toolsFile: PackedFile | null;
}

/** The file with the definitions of tools, in the folder of calls. */
export const toolsFileName = 'tools.json';
const jsonMediaType = 'application/json';

export async function collectRunCalls(
  collector: PackCollector,
  step: ChainStep,
  { calls, tools }: RunCallRecord,
): Promise<PackedCalls> {
  const packed: PackedCall[] = [];
  for (const call of calls) packed.push(await collectCall(collector, step, call));
  const notKept = calls.filter(
    (call) => isLost(call.arguments) || isLost(call.result, call.resultHash),
  ).length;
  if (notKept > 0)
    collector.notes.push(
      `Of ${notKept} tool calls of ${step.title} the crate has only hashes: their arguments or results were too large to be kept.`,
    );
  if (calls.length + tools.length === 0) return { calls: [], toolsFile: null };
  const toolsFile = await addTextFile(collector, `${JSON.stringify(tools, null, 2)}\n`, jsonMediaType, {
    folder: `${step.folder}calls`,
    name: toolsFileName,
    knownAs: [],
    description: `The tools that the code of ${step.title} could call`,
  });
  return { calls: packed, toolsFile };
}

const isLost = (kept: unknown, hash: string | null = ''): boolean => kept === null && hash !== null;

async function collectCall(
  collector: PackCollector,
  step: ChainStep,
  call: RecordedCall,
): Promise<PackedCall> {
  const { sequence, server, tool, definitionHash, verdict, outcome, error, startedAt, ms } = call;
  const add = (value: unknown, sha256: string, what: string) =>
    collectValue(collector, step, { call, value, sha256, what });
  return {
    id: `${step.execution.id}-call-${sequence}`,
    runId: step.execution.id,
    sequence,
    server,
    tool,
    definitionHash,
    verdict,
    outcome,
    error,
    startedAt,
    endedAt: startedAt + Math.round(ms),
    arguments: await add(call.arguments, call.argumentsHash, 'arguments'),
    result: call.resultHash === null ? null : await add(call.result, call.resultHash, 'result'),
  };
}

interface CallValue {
  readonly call: RecordedCall;
  readonly value: unknown;
  readonly sha256: string;
  readonly what: string;
}

/** JSON with sorted keys, so that the hash of the file is that of the record. */
async function collectValue(
  collector: PackCollector,
  { folder, title }: ChainStep,
  { call, value, sha256, what }: CallValue,
): Promise<FileOfRun> {
  const number = String(call.sequence).padStart(4, '0');
  const name = `${number}-${call.tool.replaceAll(/[^\w.-]+/g, '_')}-${what}.json`;
  const description = `The ${what} of call ${call.sequence} of ${title}, of the tool ${JSON.stringify(call.tool)}`;
  const labels = { folder: `${folder}calls`, name, knownAs: [], description };
  if (typeof value === 'object' && value !== null && hashDefinition(value) === sha256)
    return addTextFile(collector, toSortedJson(value), jsonMediaType, labels);
  const path = collector.naming(labels.folder, name);
  const missing = 'it was too large to be kept, so only its hash was';
  return { path, knownAs: [path], description, size: null, sha256, origin: null, missing };
}
