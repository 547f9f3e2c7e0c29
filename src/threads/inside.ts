import { parentPort } from 'node:worker_threads';
import type { Log } from '../log.ts';
import {
  failureOf,
  type CallContext,
  type FromThread,
  type LogLine,
  type Methods,
  type ToThread,
} from './threads.ts';

/** Logs by way of the thread that started this one: there is one log, and it decides what is worth a line. */
export function outerLog(): Log {
  const at =
    (level: LogLine['level']) =>
    (event: string, fields: LogLine['fields'] = {}): void =>
      parentPort!.postMessage({ log: { level, event, fields: plain(fields) } } satisfies FromThread);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Errors lose their code on the way over. */
function plain(fields: LogLine['fields']): LogLine['fields'] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? failureOf(value) : value]),
  );
}

/** Answers the calls of the thread that started this one. Calls run side by side; each may be cancelled. */
export function answerCalls(methods: Methods): void {
  const port = parentPort!;
  const underWay = new Map<number, AbortController>();
  const tell = (message: FromThread): void => port.postMessage(message);

  async function answer(call: number, method: string, argument: unknown): Promise<void> {
    const stop = new AbortController();
    underWay.set(call, stop);
    try {
      const context: CallContext = {
        signal: stop.signal,
        report: (progress) => tell({ call, progress }),
      };
      tell({ call, result: await methods[method]!(argument as never, context) });
    } catch (error) {
      tell({ call, failure: failureOf(error) });
    } finally {
      underWay.delete(call);
    }
  }

  port.on('message', (message: ToThread) => {
    if ('cancel' in message) underWay.get(message.cancel)?.abort();
    else void answer(message.call, message.method, message.argument);
  });
}
