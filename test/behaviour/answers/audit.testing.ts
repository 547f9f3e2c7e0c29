/** Every outcome of the search in the audit log. It comes last: all others have left lines there. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import type { Stage } from './stage.testing.ts';

export async function showAudit({ server, call, refuse }: Stage): Promise<void> {
  const [file] = globSync(join(server.data, 'audit', '*.jsonl'));
  await eventually(() => readFileSync(file!, 'utf8').includes('"level":"warning"'));
  for (const level of ['trace', 'info', 'warning']) await call('search_audit', { level, limit: 5 });
  const lines = readFileSync(file!, 'utf8');
  writeFileSync(file!, lines.replace('"operation":"request_upload"', '"operation":"request_updown"'));
  await call('search_audit', { operation: 'request_updown' });
  await call('search_audit', { text: 'nothing has this in it' });
  await refuse('search_audit', { limit: 0 });
}
