import { join } from 'node:path';
import type { AuditLine } from '../../../src/core/audit/line.ts';
import { filesIn, linesOf } from '../../../src/core/audit/log.testing.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';

/** All lines of a server's audit so far, without its own. */
export function auditOf(data: string): AuditLine[] {
  const folder = join(data, 'audit');
  return filesIn(folder)
    .flatMap((file) => linesOf(folder, file))
    .filter(({ operation }) => !operation.startsWith('audit.'));
}

/** The lines that fit, once there are so many. */
export async function audited(
  data: string,
  fits: (line: AuditLine) => boolean,
  count = 1,
): Promise<AuditLine[]> {
  let found: AuditLine[] = [];
  await eventually(() => (found = auditOf(data).filter(fits)).length >= count);
  return found;
}
