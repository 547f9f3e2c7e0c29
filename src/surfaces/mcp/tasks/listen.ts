/**
 * `subscriptions/listen` for tasks over HTTP: a stream that tells of every change of the tasks that its client named. The
 * SDK knows no such subscriptions, so it only checks the request, and the stream is written here.
 */
import { CLIENT_CAPABILITIES_META_KEY, type ClientCapabilities } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isWorkcrateError } from '../../../platform/errors.ts';
import type { Caller } from '../../../core/identity.ts';
import { mayUseGroup } from '../tool-list.ts';
import type { Tool } from '../../../core/offer/tool.ts';
import { createUndeclaredError, declaresTasks, findTool, isOver, type Task } from './task.ts';
import type { Tasks } from './tasks.ts';

const subscriptionIdKey = 'io.modelcontextprotocol/subscriptionId';

/** What one stream may be about, and how many streams a user may have. */
const mostTasksOfStream = 100;
const mostStreamsOfUser = 32;

const listenRequest = z.looseObject({
  id: z.union([z.string(), z.number()]),
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({
    notifications: z.looseObject({ taskIds: z.array(z.string().max(200)).min(1).max(mostTasksOfStream) }),
    _meta: z.looseObject({}).optional(),
  }),
});

export type ListenRequest = z.output<typeof listenRequest>;

/** The request, if it is about tasks. */
export function readTaskSubscription(body: unknown): ListenRequest | null {
  const parsed = listenRequest.safeParse(body);
  return parsed.success ? parsed.data : null;
}

/** The same request without tasks, for the SDK to check. */
export function withoutTasks({ params, ...request }: ListenRequest): unknown {
  return { ...request, params: { ...params, notifications: {} } };
}

export interface ListeningOptions {
  readonly tasks: Tasks;
  /** The tools of this server: their scopes are those of their tasks. */
  readonly tools: readonly Pick<Tool, 'name' | 'group'>[];
  /** How often a stream on which nothing comes gets a comment. */
  readonly aliveMs: number;
}

/** Who listens, and with which scopes; all of them where authentication is off. */
type Listener = Caller & { readonly scopes?: readonly string[] };

/** The streams that tell of tasks. */
export function createTaskStreams({ tasks, tools, aliveMs }: ListeningOptions) {
  const open = new Map<() => void, string>();

  /** Those of the caller; of the others nobody learns whether they are there. */
  async function findOwn(caller: Listener, ids: readonly string[]): Promise<Task[]> {
    const found = await Promise.all(
      [...new Set(ids)].map((id) =>
        tasks.find(caller, id).catch((error: unknown) => {
          if (isWorkcrateError(error, 'not_found')) return null;
          throw error;
        }),
      ),
    );
    const isAllowed = (task: Task): boolean => {
      const tool = findTool(tools, task);
      return tool === undefined || mayUseGroup(caller.scopes, tool.group);
    };
    return found.filter((task) => task !== null).filter(isAllowed);
  }

  async function serve(
    { id, params }: ListenRequest,
    caller: Listener,
    signal: AbortSignal,
  ): Promise<Response> {
    const capabilities = params._meta?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
    if (!declaresTasks(capabilities ?? {})) {
      const { code, message, data } = createUndeclaredError();
      return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } });
    }
    if ([...open.values()].filter((user) => user === caller.user).length >= mostStreamsOfUser)
      return Response.json({
        jsonrpc: '2.0',
        id,
        error: { code: -32_603, message: 'Too many subscriptions' },
      });
    const own = await findOwn(caller, params.notifications.taskIds);
    return new Response(writeStream(id, own, caller, signal), { headers: streamHeaders });
  }

  function writeStream(id: string | number, own: readonly Task[], { user }: Caller, signal: AbortSignal) {
    const encoder = new TextEncoder();
    const _meta = { [subscriptionIdKey]: id };
    const left = new Set(own.map((task) => task.id));
    const listening = new DisposableStack();
    return new ReadableStream<Uint8Array>({
      start(controller) {
        const send = (text: string): void => controller.enqueue(encoder.encode(text));
        const sendMessage = (message: object): void =>
          send(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
        const notify = (method: string, fields: object): void =>
          sendMessage({ method, params: { ...fields, _meta } });
        const close = (): void => {
          if (listening.disposed) return;
          listening.dispose();
          sendMessage({ id, result: { resultType: 'complete', _meta } });
          controller.close();
        };
        const tell = (task: Task): void => {
          if (listening.disposed || !left.has(task.id)) return;
          notify('notifications/tasks', tasks.toDetailed(task));
          if (isOver(task.status)) left.delete(task.id);
          if (left.size === 0) close();
        };
        open.set(close, user);
        listening.defer(() => open.delete(close));
        notify('notifications/subscriptions/acknowledged', { notifications: { taskIds: [...left] } });
        if (left.size === 0) return close();
        const timer = setInterval(() => send(': keepalive\n\n'), aliveMs).unref();
        listening.defer(() => clearInterval(timer));
        for (const task of own) listening.use(tasks.listen(task, tell));
        const leave = (): void => listening.dispose();
        signal.addEventListener('abort', leave, { once: true });
        listening.defer(() => signal.removeEventListener('abort', leave));
        // What happened before it listened is not told again.
        for (const task of own) tell(task);
      },
      cancel: () => listening.dispose(),
    });
  }

  return {
    serve,
    /** Says goodbye to those who listen. */
    close(): void {
      for (const close of open.keys()) close();
    },
  };
}

const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};
