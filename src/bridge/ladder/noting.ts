import type { Audit } from '../../audit/audit.ts';
import { asWorkcrateError } from '../../errors.ts';
import type { Question, ToolContext } from '../../mcp/tool.ts';
import type { Way } from '../client-file.ts';
import { isOffer } from './errand.ts';

type Answer = { readonly rung: Way } | Question;

/**
 * Notes every operation (E8): what was had is a trace, what failed an information, and a path that leads out of the
 * project a violation. Null is nothing done.
 */
export async function noted<T extends Answer | null>(
  audit: Audit,
  operation: string,
  subject: string,
  { caller, client, signal }: ToolContext,
  work: () => Promise<T>,
): Promise<T> {
  const about = { operation, user: caller.user, client: client.name, subject };
  try {
    const done = await work();
    if (done !== null) audit.note({ ...about, level: 'trace', ...outcome(done) });
    return done;
  } catch (cause) {
    const error = asWorkcrateError(cause);
    const event = { ...about, result: signal.aborted ? 'cancelled' : error.code };
    if (error.code === 'path_refused')
      audit.violation(event, String(error.details['kind'] ?? 'path_refused'), error);
    else audit.note({ ...event, level: 'info' });
    throw cause;
  }
}

function outcome(done: Answer) {
  if ('ask' in done) return { result: 'asked' };
  return { result: isOffer(done) ? 'offered' : 'ok', details: { rung: done.rung } };
}
