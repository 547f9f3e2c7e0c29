/**
 * What a client may ask about its tasks: `tasks/get`, `tasks/update` and `tasks/cancel`. It also puts tasks and errors of
 * the protocol in the place of the results of calls, which the SDK would take for results of tools.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  type ProtocolError,
  type Result,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Caller } from '../../../core/identity.ts';
import { wrapHandler } from '../handlers.ts';
import { createNoScopeError, readEnvelope } from '../refused-calls.ts';
import type { Tool } from '../../../core/offer/tool.ts';
import type { AnswerCounted } from '../answered-requests.ts';
import { createUndeclaredError, declaresTasks, findTool, tasksExtension } from './task.ts';
import type { Tasks } from './tasks.ts';

export interface TaskMethodsOptions {
  readonly tasks: Promise<Tasks>;
  /** The tools of this server: their scopes are those of their tasks. */
  readonly tools: readonly Pick<Tool, 'name' | 'group'>[];
  readonly answer: AnswerCounted;
}

const maxShownId = 60;
const oneTask = z.looseObject({ taskId: z.string().max(200) });

/** Whether this request may be answered with a task: it has to say so itself, in a version that has tasks. */
export function takesTasks(server: McpServer, { mcpReq }: ServerContext): boolean {
  const envelope = readEnvelope(server, mcpReq.envelope);
  const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
  return capabilities !== undefined && declaresTasks(capabilities);
}

/** Declares tasks on a server and answers the requests for them. */
export function offerTasks(mcpServer: McpServer, { tasks, tools, answer }: TaskMethodsOptions): void {
  const { server } = mcpServer;
  server.registerCapabilities({ extensions: { [tasksExtension]: {} } });

  function offer(
    method: string,
    act: (tasks: Tasks, caller: Caller, taskId: string, context: ServerContext) => Promise<Result>,
  ): void {
    server.setRequestHandler(method, { params: oneTask }, ({ taskId }, context) => {
      if (!takesTasks(mcpServer, context)) throw createUndeclaredError();
      const subject = taskId.slice(0, maxShownId);
      // A task has the result of a call, which was judged as such.
      const request = { method, subject, isRoutine: method === 'tasks/get', isJudged: true };
      return answer(request, context, async ({ caller, mayUse }) => {
        const known = await tasks;
        const { group } = findTool(tools, await known.find(caller, taskId)) ?? {};
        if (group !== undefined && !mayUse(group)) throw createNoScopeError(group);
        return act(known, caller, taskId, context);
      });
    });
  }

  offer('tasks/get', async (known, caller, taskId) => known.toDetailed(await known.find(caller, taskId)));
  // The SDK has taken the answers out of the parameters, and left out what cannot be one.
  offer('tasks/update', async (known, caller, taskId, { mcpReq }) => {
    await known.answer(caller, taskId, mcpReq.inputResponses ?? {});
    return {};
  });
  offer('tasks/cancel', async (known, caller, taskId) => {
    await known.cancel(caller, taskId);
    return {};
  });
}

/** What is to be answered instead of what the SDK makes of a call, by the signal that each call has of its own. */
const replaced = new WeakMap<AbortSignal, () => Result>();

/** Has a call answered with a task. What it returns stands for that until then. */
export function replaceByTask({ mcpReq }: ServerContext, task: Result): { isError: true; content: [] } {
  replaced.set(mcpReq.signal, () => task);
  return { isError: true, content: [] };
}

/** Has a call answered with an error of the protocol, where the SDK would make it one of the tool. */
export function replaceByError(
  { mcpReq }: ServerContext,
  error: ProtocolError,
): { isError: true; content: [] } {
  replaced.set(mcpReq.signal, () => {
    throw error;
  });
  return { isError: true, content: [] };
}

/** Puts tasks and errors of the protocol into the answers of calls. */
export function passTasksOn(server: McpServer): void {
  wrapHandler(server, 'tools/call', (handle) => async (request, context) => {
    const result = await handle(request, context);
    return replaced.get(context.mcpReq.signal)?.() ?? result;
  });
}
