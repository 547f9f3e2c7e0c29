import { nobody, type Audit, type Details, type Noted } from './audit.ts';
import { noteFailure } from './failure.ts';

/** Lines for what is asked for over HTTP, under the names of the tools that give the same. */
export function auditedRequests(audit: Audit): Noted {
  return async ({ operation, user, subject, signal }, work) => {
    const event = { operation, user: user ?? nobody, client: null, subject };
    let details: Details = { via: 'http' };
    try {
      const done = await work((more) => void (details = { ...details, ...more }));
      audit.note({ ...event, level: 'trace', result: 'ok', details });
      return done;
    } catch (cause) {
      noteFailure(audit, { ...event, details }, cause, signal);
      throw cause;
    }
  };
}
