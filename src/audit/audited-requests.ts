import { nobody, type Audit, type Details, type Noted } from './audit.ts';
import { noteFailure, plainlyDecoded } from './failure.ts';
import { withoutSecrets } from './secrets.ts';

/** Lines for what is asked for over HTTP, under the names of the tools that give the same. */
export function auditedRequests(audit: Audit): Noted {
  return async ({ operation, user, subject, signal }, work) => {
    const event = {
      operation,
      user: withoutSecrets(user ?? nobody),
      client: null,
      subject: subject === null ? null : presentable(subject),
    };
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

/** A key is one in any spelling; where there is none, what was asked for stays as it was. */
function presentable(subject: string): string {
  const plain = plainlyDecoded(subject);
  const shown = withoutSecrets(plain);
  return shown === plain ? subject : shown;
}
