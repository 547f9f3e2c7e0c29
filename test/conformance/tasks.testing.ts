import { setTimeout as pause } from 'node:timers/promises';
import { openingOf } from './messages.testing.ts';

/** A message or a task, whatever is in it. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test names the fields that it expects
export type Came = Record<string, any>;

export const tasksExtension = 'io.modelcontextprotocol/tasks';

const names = ['name', 'taskId', 'uri'];

export interface TaskClientOptions {
  readonly bearer?: string;
  /** Whether it declares tasks in its requests. */
  readonly hasTasks?: boolean;
}

/** A client that speaks tasks: the official one has none, so this is plain HTTP. */
export function createTaskClient(url: string, { bearer, hasTasks = true }: TaskClientOptions = {}) {
  const extensions = hasTasks ? { extensions: { [tasksExtension]: {} } } : {};
  const { request } = openingOf('2026-07-28', { elicitation: {}, ...extensions });
  let id = 0;

  function post(method: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<Response> {
    const name = names.map((key) => params[key]).find((value) => typeof value === 'string');
    return fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name === undefined ? {} : { 'mcp-name': name as string }),
        ...(bearer === undefined ? {} : { Authorization: `Bearer ${bearer}` }),
      },
      body: JSON.stringify(request(++id, method, params)),
      ...(signal === undefined ? {} : { signal }),
    });
  }

  async function ask(method: string, params: Record<string, unknown>): Promise<Came> {
    let last: Came = {};
    for await (const message of readMessages(await post(method, params))) last = message;
    return last;
  }

  const getTask = async (taskId: string): Promise<Came> => (await ask('tasks/get', { taskId }))['result'];

  return {
    post,
    /** The last message of the answer. */
    ask,
    /** The result of a call, or the task that it became. */
    call: async (name: string, input: Record<string, unknown>): Promise<Came> =>
      (await ask('tools/call', { name, arguments: input }))['result'],
    getTask,
    /** Polls until it is so. */
    async until(taskId: string, isSo: (task: Came) => boolean): Promise<Came> {
      for (;;) {
        const task = await getTask(taskId);
        if (isSo(task)) return task;
        await pause(50);
      }
    },
    /** All that a subscription tells, until it ends. */
    async *listen(taskIds: readonly string[], signal?: AbortSignal): AsyncGenerator<Came> {
      yield* readMessages(await post('subscriptions/listen', { notifications: { taskIds } }, signal));
    },
  };
}

export const isTaskOver = ({ status }: Came): boolean => status !== 'working' && status !== 'input_required';

/** The messages of a response, be it one or a stream of them. */
async function* readMessages(response: Response): AsyncGenerator<Came> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
    return yield (await response.json()) as Came;
  let rest = '';
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: {')) yield JSON.parse(line.slice(6)) as Came;
  }
}
