/**
 * What a task is: a call of a tool that goes on after it was answered, as the MCP extension io.modelcontextprotocol/tasks
 * (SEP-2663) has it. Its forms for clients are made here; its life is in `tasks.ts`, its row is a job's (`core/jobs/`).
 */
import { randomBytes } from 'node:crypto';
import {
  MissingRequiredClientCapabilityError,
  type CallToolResult,
  type ClientCapabilities,
  type InputRequest,
  type ProtocolError,
} from '@modelcontextprotocol/server';
import type { JobRecord } from '../../../core/jobs/rows.ts';
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Tool } from '../../../core/offer/tool.ts';

export const tasksExtension = 'io.modelcontextprotocol/tasks';

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'cancelled' | 'failed';

export const isOver = (status: TaskStatus): boolean => status !== 'working' && status !== 'input_required';

export type TaskQuestions = Readonly<Record<string, InputRequest>>;
export type TaskAnswers = Readonly<Record<string, unknown>>;

/** An error of the protocol, as clients get it. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** How a task ended. `failed` is for errors of the protocol alone: a tool that failed has a result that says so. */
export type TaskOutcome =
  | { readonly status: 'completed'; readonly result: CallToolResult }
  | { readonly status: 'failed'; readonly error: TaskError }
  | { readonly status: 'cancelled' };

/** A call that goes on after it was answered. */
export interface Task extends Omit<JobRecord, 'work' | 'status' | 'questions' | 'outcome'> {
  readonly tool: string;
  readonly status: TaskStatus;
  readonly questions: TaskQuestions;
  readonly outcome: TaskOutcome | null;
}

/** The job that a task is a view of. */
export const toJob = ({ tool: work, questions, outcome, ...job }: Task): JobRecord => ({
  ...job,
  work,
  questions: job.status === 'input_required' ? JSON.stringify(questions) : null,
  outcome: outcome && JSON.stringify(outcome),
});

export const taskFromJob = ({ work: tool, status, questions, outcome, ...job }: JobRecord): Task => ({
  ...job,
  tool,
  status: status as TaskStatus,
  questions: questions === null ? {} : (JSON.parse(questions) as TaskQuestions),
  outcome: outcome === null ? null : (JSON.parse(outcome) as TaskOutcome),
});

/** Nobody can guess one; and it is of use to its owner alone. */
export const newTaskId = (): string => `task_${randomBytes(24).toString('base64url')}`;

export const taskIdForm = /^task_[\w-]{32}$/;

/** How often a client should ask, unless it listens. */
const pollIntervalMs = 1000;

/**
 * What is the same in every form of a task. A task that is under way says that it is kept for at least `ttlMs` more, so
 * that no client gives it up while it runs.
 */
function toTaskFields(task: Task, ttlMs: number, now: number) {
  const { id: taskId, status, message, createdAt, updatedAt, expiresAt } = task;
  const age = Math.max(0, now - createdAt);
  const kept = expiresAt === null ? ttlMs * (1 + Math.ceil(age / ttlMs)) : expiresAt - createdAt;
  return {
    taskId,
    status,
    ...(message === '' ? {} : { statusMessage: message }),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ttlMs: Math.max(1, Math.round(kept)),
    pollIntervalMs,
  };
}

/** The answer to the call that became a task. */
export const toCreatedTask = (task: Task, ttlMs: number, now: number) => ({
  resultType: 'task' as const,
  ...toTaskFields(task, ttlMs, now),
});

/** What `tasks/get` answers and `notifications/tasks` tells. */
export function toDetailedTask(task: Task, ttlMs: number, now: number): Record<string, unknown> {
  const { status, outcome, questions } = task;
  return {
    ...toTaskFields(task, ttlMs, now),
    ...(status === 'input_required' ? { inputRequests: questions } : {}),
    ...(outcome?.status === 'completed' ? { result: outcome.result } : {}),
    ...(outcome?.status === 'failed' ? { error: outcome.error } : {}),
  };
}

/** The tool that a task is a call of; undefined where this server does not have it. */
export const findTool = <Named extends Pick<Tool, 'name'>>(
  tools: readonly Named[],
  { tool }: Pick<Task, 'tool'>,
): Named | undefined => tools.find(({ name }) => name === tool);

/** Whether a client declares tasks. It has to do so in each request. */
export const declaresTasks = ({ extensions }: ClientCapabilities): boolean =>
  extensions?.[tasksExtension] !== undefined;

export const createUndeclaredError = (): ProtocolError =>
  new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    `Tasks are for clients that declare the extension ${tasksExtension} in the request.`,
  );

/** The same for a task of somebody else, one that expired and one that never was. */
export const createUnknownTaskError = (): WorkcrateError =>
  new WorkcrateError(
    'not_found',
    'There is no such task of yours. It may have expired: its result is kept for the ttlMs that it told.',
  );

export const toTaskError = ({ code, message, data }: ProtocolError): TaskError => ({
  code,
  message,
  ...(data === undefined ? {} : { data }),
});

/** What a task says of itself that its server did not finish. */
export const lostMessage = 'lost: the server ended while it was running';

export const internalErrorCode = -32_603;

/** How a task ends that its server did not finish. */
export const createLostOutcome = ({ tool, execution }: Task, how: 'ended' | 'stopped'): TaskOutcome => ({
  status: 'failed',
  error: {
    code: internalErrorCode,
    message: `The server ${how} while this task was running: ${tool} had not finished, and its result is lost. ${
      execution === null ? 'Call it again.' : `get_execution shows what is known of ${execution}.`
    }`,
    data: { code: 'lost' },
  },
});

const maxMessageLength = 300;

/** The last line of a text that says something, short enough for a status. */
export function readLastLine(text: string): string {
  // Terminals write over a line with a carriage return.
  const lines = text.slice(-4 * maxMessageLength).split(/[\r\n]+/);
  const last = lines.findLast((line) => line.trim() !== '') ?? '';
  const plain = last.replaceAll(/\p{Cc}|\p{Cs}/gu, ' ').trim();
  return plain.length > maxMessageLength ? `${plain.slice(0, maxMessageLength - 1)}…` : plain;
}
