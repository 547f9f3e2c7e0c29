/**
 * Executions as MCP resources: `workcrate://executions/{execution_id}`. One reads as `get_execution` answers, whose text
 * is made in `tools.ts`.
 */
import type { Caller } from '../identity.ts';
import { beginsWith, readByTool, type ListedResource, type DeclaredResources } from '../offer/resource.ts';
import { bindTool } from '../offer/tool.ts';
import { quoteShort } from '../../platform/text/text.ts';
import type { Executions } from './executions.ts';
import type { ListedExecution } from './fields.ts';
import { declareGetExecutionTool, type RunsRoom } from './tools.ts';

export const executionResources: DeclaredResources<RunsRoom> = {
  name: 'execution',
  group: 'code',
  title: 'Execution',
  description:
    'The record of one run: code, inputs, output, changed files, how it ended. search_executions finds them.',
  template: 'workcrate://executions/{execution_id}',

  async list({ executions }, { after, limit }, { caller }) {
    const found = await executions.search(caller, { limit, after: after ?? undefined });
    return { resources: found.executions.map(toListedExecution), next: found.next };
  },

  read: (room, { execution_id }, context) =>
    readByTool(bindTool(declareGetExecutionTool(room), room), { execution_id }, context),

  complete: ({ executions }, _variable, begun, { caller }) => completeExecutionId(executions, caller, begun),
};

const maxCodeShown = 60;

function toListedExecution({
  id,
  language,
  reason,
  exitCode,
  startedAt,
  code,
}: ListedExecution): ListedResource {
  const ending = exitCode === null ? reason : `${reason} ${exitCode}`;
  return {
    variables: { execution_id: id },
    name: id,
    description: `${language}, ${ending}: ${quoteShort(code, maxCodeShown)}`,
    mimeType: 'text/plain',
    modified: startedAt,
  };
}

/** Ids of the caller's newest runs that begin like this. */
export async function completeExecutionId(
  executions: Executions,
  caller: Caller,
  begun: string,
): Promise<string[]> {
  const found = await executions.search(caller, { limit: maxLookedAt });
  return found.executions.map(({ id }) => id).filter((id) => beginsWith(id, begun));
}

const maxLookedAt = 500;
