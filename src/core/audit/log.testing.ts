import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEvent } from './audit.ts';
import type { AuditLine } from './line.ts';
import { openAudit, type AuditOptions } from './open.ts';

export const noon = Date.parse('2026-05-04T12:00:00Z');

export function temporaryLog(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'workcrate-audit-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

/** A log that keeps what it is told. */
export function keptLog() {
  const events: string[] = [];
  const keep = (event: string): void => void events.push(event);
  return { events, log: { debug: keep, info: keep, warn: keep, error: keep } };
}

export function open(folder: string, options: Partial<AuditOptions> = {}) {
  const { log } = keptLog();
  return openAudit({
    folder,
    clock: () => noon,
    level: 'trace',
    retentionDays: 90,
    key: null,
    log,
    ...options,
  });
}

export const event = (given: Partial<AuditEvent> = {}): AuditEvent => ({
  level: 'trace',
  operation: 'read_client_file',
  user: 'ada',
  client: 'a client 1.0',
  subject: 'docs/a.md',
  result: 'ok',
  ...given,
});

export const filesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort();

export const linesOf = (folder: string, file = filesIn(folder).at(-1)!): AuditLine[] =>
  readFileSync(join(folder, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditLine);

/** What somebody without the key may add to a file: it looks like a line, whatever it says. */
export function forged(given: Readonly<Record<string, unknown>>): string {
  const line = {
    seq: 9,
    time: new Date(noon).toISOString(),
    ...event({ client: null, subject: null }),
    ...given,
  };
  const seal = '0'.repeat(64);
  return `${JSON.stringify(line).slice(0, -1)},"prev":"${seal}","hash":"${seal}"}\n`;
}
