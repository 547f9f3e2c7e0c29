import { join } from 'node:path';
import type { AuditLine } from '../../src/audit/line.ts';
import { filesIn, linesOf } from '../../src/audit/log.testing.ts';

/** All lines of a server's audit so far, without its own. */
export function auditOf(data: string): AuditLine[] {
  const folder = join(data, 'audit');
  return filesIn(folder)
    .flatMap((file) => linesOf(folder, file))
    .filter(({ operation }) => !operation.startsWith('audit.'));
}
