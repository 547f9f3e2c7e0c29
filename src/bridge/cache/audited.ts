import type { Audit } from '../../audit/audit.ts';
import { asWorkcrateError } from '../../errors.ts';
import { isQuestion, type Question, type ToolAnswer, type ToolContext } from '../../mcp/tool.ts';

/** Notes what was done, once for each path; one that leads out of the project is a violation, and the only one noted then. */
export async function audited<T>(
  audit: Audit | undefined,
  operation: string,
  { caller: { user }, client: { name: client } }: ToolContext,
  subjects: readonly string[],
  work: () => Promise<ToolAnswer<T> | Question>,
): Promise<ToolAnswer<T> | Question> {
  const about = { operation, user, client };
  const [first = null] = subjects;
  try {
    const done = await work();
    const result = isQuestion(done) ? 'asked' : 'ok';
    for (const subject of isQuestion(done) || first === null ? [first] : subjects)
      audit?.note({ ...about, level: 'trace', subject, result });
    return done;
  } catch (cause) {
    const error = asWorkcrateError(cause);
    const { code, details } = error;
    const event = {
      ...about,
      subject: details['path'] === undefined ? first : String(details['path']),
      result: code,
    };
    if (code === 'path_refused') audit?.violation(event, String(details['kind'] ?? code), error);
    else audit?.note({ ...event, level: 'info' });
    throw cause;
  }
}
