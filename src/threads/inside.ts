import type { Log } from '../log.ts';
import { afterFailure, failureOf, type LogLine } from './messages.ts';
import { outside } from './outside.ts';
import type { CallContext, Methods } from './threads.ts';

/** Logs by way of the thread or process that started this one: there is one log, and it decides what is worth a line. */
export function outerLog(): Log {
  const at =
    (level: LogLine['level']) =>
    (event: string, fields: LogLine['fields'] = {}): void =>
      outside.post({ log: { level, event, fields: plain(fields) } });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Errors lose their code on the way over. */
function plain(fields: LogLine['fields']): LogLine['fields'] {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, value instanceof Error ? failureOf(value) : value]),
  );
}

/** What whoever started this one gave along. */
export const outerData = (): Promise<unknown> => outside.data;

/** Whether this one was started in place of one that has failed. */
export const isAfterFailure = (): boolean => process.argv.includes(afterFailure);

/** Answers the calls of whoever started this one. Calls run side by side; each may be cancelled. */
export function answerCalls(methods: Methods): void {
  const underWay = new Map<number, AbortController>();
  const { post } = outside;

  async function answer(call: number, method: string, argument: unknown): Promise<void> {
    const stop = new AbortController();
    underWay.set(call, stop);
    try {
      const context: CallContext = {
        signal: stop.signal,
        report: (progress) => post({ call, progress }),
      };
      post({ call, result: await methods[method]!(argument as never, context) });
    } catch (error) {
      post({ call, failure: failureOf(error) });
    } finally {
      underWay.delete(call);
    }
  }

  outside.listen((message) => {
    if ('ping' in message) post({ pong: true });
    else if ('cancel' in message) underWay.get(message.cancel)?.abort();
    else void answer(message.call, message.method, message.argument);
  });
}
