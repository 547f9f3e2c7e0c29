/**
 * What a run has to do with tools that its code calls: what it is granted before anything is written, its open calls, and
 * the questions by which a person is asked. How tools are called is in `tool-calls/`.
 */
import { z } from 'zod';
import { WorkcrateError } from '../../platform/errors.ts';
import type { McpClient, Question } from '../offer/tool.ts';
import type { Sandbox, Workspace } from '../../ports/sandbox/sandbox.ts';
import type {
  OpenToolCalls,
  PendingQuestion,
  RequestedTools,
  ToolCalls,
} from '../../features/code-mode/tool-calls.ts';
import type { ExecutionRequest } from './execute.ts';
import type { Execution } from './fields.ts';
import type { LiveRun, RunUnderWay } from './live.ts';

export type RunToolCalls = OpenToolCalls;
type Grant = Awaited<ReturnType<ToolCalls['grant']>>;

/** What a run needs of this room for it. */
interface ToolCallRoom {
  readonly toolCalls?: ToolCalls | null;
}

/** Which tools the code may call; null where it asks for none. */
export async function grantToRun(
  { toolCalls = null }: ToolCallRoom,
  { tools, language, session }: Pick<ExecutionRequest, 'tools' | 'language' | 'session'>,
): Promise<Grant | null> {
  if (tools === undefined || tools.granted.length === 0) return null;
  if (session !== undefined)
    throw new WorkcrateError(
      'invalid_input',
      'In a session code cannot call tools. Leave session_id out, or leave tools out.',
    );
  if (toolCalls === null) throw new WorkcrateError('unsupported', 'Code cannot call tools here.');
  return toolCalls.grant(tools, language);
}

interface RunParts {
  readonly sandbox: Sandbox;
  readonly place: Workspace;
  readonly begun: Execution;
  readonly underWay: RunUnderWay;
}

export function openRunTools(
  { toolCalls = null }: ToolCallRoom,
  { sandbox, place, begun, underWay }: RunParts,
  requested: RequestedTools | undefined,
  grant: Grant | null,
): RunToolCalls | null {
  if (toolCalls === null || requested === undefined || grant === null) return null;
  const { id, owner: user, workingDir } = begun;
  const { questions, signal } = underWay;
  return toolCalls.open({ id, user, sandbox, place, workingDir, questions, signal }, requested, grant);
}

const askedRunShape = z.strictObject({ run: z.string(), question: z.number() });

/** Which run a further round of a call is about, and which of its questions; null in the first round. */
export function readAskedRun({ state }: Pick<McpClient, 'state'>): z.output<typeof askedRunShape> | null {
  return askedRunShape.safeParse(state).data ?? null;
}

/** The question of a run as the result of the call that attends it. */
export const toRunQuestion = ({ id }: LiveRun, { number, question }: PendingQuestion): Question => ({
  ask: question.ask,
  state: { run: id, question: number },
});

export const lateAnswerError = (id: string): WorkcrateError =>
  new WorkcrateError(
    'client_timeout',
    `The answer came too late, or to another server than the one that runs ${id}: that went on without it. get_execution shows how it ended.`,
  );
