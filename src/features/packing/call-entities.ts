/**
 * The entities of tool calls: each an action of its own, with the tool as its instrument. They are activations: what
 * creates is the run, which a replay repeats as a whole.
 */
import { ownServer } from '../../core/offer/toolbox.ts';
import {
  createFileEntity,
  createGraphEntity,
  createRunFileEntity,
  serverUrl,
  toEntityReference,
  toEntityReferences,
  toIsoTimestamp,
  toLocalEntityId,
  toRunFileId,
  type GraphEntity,
} from './entities.ts';
import type { PackedCall, PackedRun } from './packed.ts';
import type { CrateSpecification } from './specification.ts';

export const toCallActionId = ({ id }: PackedCall): string => `#${id}`;

/** Names of properties that a replay reads again. */
export const callPropertyNames = {
  run: 'run',
  sequence: 'number of the call',
  server: 'server of the tool',
  definition: 'sha256 of the tool definition',
  verdict: 'verdict',
  outcome: 'outcome',
} as const;

/** Enough of a hash to tell two definitions of a tool apart. */
const toolVersionLength = 12;

export function createCallEntities(
  { calls, toolsFile }: PackedRun,
  specification: CrateSpecification,
  { agent, run }: { readonly agent: string; readonly run: string },
): GraphEntity[] {
  return [
    ...calls.flatMap((call) => [
      createCallAction(call, specification, agent),
      createToolEntity(call),
      ...listCallProperties(call).map(createPropertyEntity),
      ...listCallFiles(call).map((file) => createRunFileEntity(file, specification)),
    ]),
    ...(toolsFile === null ? [] : [createFileEntity(toolsFile, run)]),
  ];
}

const listCallFiles = ({ arguments: given, result }: PackedCall) =>
  result === null ? [given] : [given, result];

function createCallAction(call: PackedCall, specification: CrateSpecification, agent: string): GraphEntity {
  const { id, runId, sequence, tool, outcome, verdict, error, startedAt, endedAt, result } = call;
  const succeeded = outcome === 'ok';
  return createGraphEntity(toCallActionId(call), 'ActivateAction', {
    name: `Call ${sequence} of ${runId}: ${tool}`,
    description: `The code of run ${runId} called the tool ${tool}: ${verdict}, ${outcome} after ${endedAt - startedAt} ms.`,
    identifier: id,
    instrument: toEntityReference(toToolId(call)),
    agent: toEntityReference(agent),
    startTime: toIsoTimestamp(startedAt),
    endTime: toIsoTimestamp(endedAt),
    actionStatus: specification.toActionStatus(succeeded),
    error: succeeded ? null : (error ?? outcome),
    object: toEntityReference(toRunFileId(call.arguments)),
    result: result === null ? null : toEntityReference(toRunFileId(result)),
    additionalProperty: toEntityReferences(listCallProperties(call).map(toPropertyId)),
  });
}

/** Of a tool of another server only the protocol is known by which it is called. */
const protocolUrl = 'https://modelcontextprotocol.io/';

const getToolUrl = ({ server }: PackedCall): string => (server === ownServer ? serverUrl : protocolUrl);

/** Another definition is another tool. */
const toToolId = (call: PackedCall): string =>
  `${getToolUrl(call)}${toLocalEntityId('tool', `${call.server}/${call.tool}/${call.definitionHash ?? 'unknown'}`)}`;

function createToolEntity(call: PackedCall): GraphEntity {
  const { tool, server, definitionHash } = call;
  return createGraphEntity(toToolId(call), 'SoftwareApplication', {
    name: tool,
    description: `The tool ${tool} of the server ${server}, which code called`,
    identifier: `${server}/${tool}`,
    url: getToolUrl(call),
    version: definitionHash?.slice(0, toolVersionLength) ?? 'unknown',
  });
}

interface CallProperty {
  readonly name: string;
  readonly value: string | number;
}

function listCallProperties(call: PackedCall): CallProperty[] {
  const { runId, sequence, server, definitionHash, verdict, outcome } = call;
  const names = callPropertyNames;
  return [
    { name: names.run, value: runId },
    { name: names.sequence, value: sequence },
    { name: names.server, value: server },
    ...(definitionHash === null ? [] : [{ name: names.definition, value: definitionHash }]),
    { name: names.verdict, value: verdict },
    { name: names.outcome, value: outcome },
  ];
}

const toPropertyId = ({ name, value }: CallProperty): string => toLocalEntityId(name, String(value));

const createPropertyEntity = (property: CallProperty): GraphEntity =>
  createGraphEntity(toPropertyId(property), 'PropertyValue', { ...property });
