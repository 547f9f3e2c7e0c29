import { withoutSecrets } from '../secrets.ts';
import { currentRequestId } from './request-id.ts';

/** Structured lines for the operator. One JSON object a line, so that no content can forge another line. */
export interface Log {
  debug(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  error(event: string, fields?: Fields): void;
  /** Whether debug lines are written, for whoever would do work for one. */
  readonly tellsDebug?: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const levels = ['debug', 'info', 'warn', 'error'] as const;

export type LogLevel = (typeof levels)[number] | 'off';

/** Logs to stderr: stdout belongs to the protocol when the program runs as `workcrate stdio`. */
export function createLog(
  least: LogLevel,
  write: (line: string) => void = (line) => void process.stderr.write(line),
): Log {
  const threshold = least === 'off' ? levels.length : levels.indexOf(least);
  const at = (level: (typeof levels)[number]) =>
    levels.indexOf(level) < threshold
      ? () => {}
      : (event: string, fields: Fields = {}) => write(line(level, event, fields));
  const tellsDebug = threshold === 0;
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), tellsDebug };
}

function line(level: string, event: string, fields: Fields): string {
  const id = currentRequestId();
  const request = id === null ? {} : { request: id };
  const json = JSON.stringify({ time: new Date().toISOString(), level, event, ...request, ...fields }, plain);
  return `${json.replace(unprintable, escaped)}\n`;
}

/** What JSON leaves as it is, although terminals act on it or take it for the end of a line. */
const unprintable = /[\u007f-\u009f\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Errors do not survive JSON by themselves; their stack stays out, their code and cause come along. No text has a secret. */
function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return withoutSecrets(value);
  if (!(value instanceof Error)) return value;
  const code = (value as { code?: unknown }).code;
  return { code, message: value.message, ...(value.cause === undefined ? {} : { cause: value.cause }) };
}
