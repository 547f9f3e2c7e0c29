import type { Audit } from '../../audit/audit.ts';
import { asWorkcrateError } from '../../errors.ts';
import type { ToolContext } from '../../mcp/tool.ts';

/** Notes what was done, once for each path; a path that was refused is a violation, and the only one noted then. */
export function audited<T>(
  audit: Audit | undefined,
  operation: string,
  { caller: { user }, client: { name: client } }: ToolContext,
  { subjects, work }: { readonly subjects: readonly string[]; readonly work: () => T },
): T {
  const about = { operation, user, client };
  try {
    const done = work();
    for (const subject of subjects) audit?.note({ ...about, level: 'trace', subject, result: 'ok' });
    return done;
  } catch (cause) {
    const error = asWorkcrateError(cause);
    const { code, details } = error;
    const subject = details['path'] === undefined ? (subjects[0] ?? null) : String(details['path']);
    const event = { ...about, subject, result: code };
    if (code === 'path_refused') audit?.violation(event, String(details['kind'] ?? code), error);
    else audit?.note({ ...event, level: 'info' });
    throw cause;
  }
}
