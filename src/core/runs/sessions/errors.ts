/**
 * What callers are told where a session cannot be used. An id of another user is as unknown as one that was made up.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { Language } from '../../../ports/sandbox/sandbox.ts';
import { quoteName } from '../../../platform/text/text.ts';
import type { SessionEnd } from './ends.ts';
import type { SessionRecord } from './store.ts';

type Named = Pick<SessionRecord, 'id' | 'name'>;

export const nameSession = ({ id, name }: Named): string =>
  name === null ? id : `${id} (${quoteName(name)})`;

export function unknownSessionError(): WorkcrateError {
  return new WorkcrateError(
    'not_found',
    'You have no session of this id or name. list_sessions shows yours; start_session, or execute_code with a session_id that is a name of your own, makes one.',
  );
}

export function sessionEndedError(session: Named, { text }: SessionEnd): WorkcrateError {
  return new WorkcrateError(
    'session_ended',
    `The session ${nameSession(session)} is over: ${text}. Its variables are gone; its files are not. Start another (start_session), or run its cells again in a new one: manage_session with session_id ${session.id} and action replay.`,
  );
}

export function endNotRecordedError(session: Named, cause: unknown): WorkcrateError {
  return new WorkcrateError(
    'database_failed',
    `The session ${nameSession(session)} is over and its interpreter is closed, but the database failed, so that is not recorded yet. The server tries again until it is.`,
    { cause },
  );
}

export function elsewhereError(session: Named): WorkcrateError {
  return new WorkcrateError(
    'session_elsewhere',
    `The session ${nameSession(session)} is open on another server of this installation, and a session lives in one server. Call again, which may reach that server; or start another session here. The operator can route the calls of a client to one server (docs/guide/deploy.md).`,
  );
}

export function tooManySessionsError(most: number): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `Maximum ${most} concurrent sessions reached. Close a session first.`,
    { details: { limit: most } },
  );
}

export function otherLanguageError(
  session: Named & Pick<SessionRecord, 'language'>,
  asked: Language,
): WorkcrateError {
  return new WorkcrateError(
    'invalid_input',
    `The session ${nameSession(session)} runs ${session.language}, not ${asked}. Use language ${session.language}, or another session; reset: true begins this one anew in ${asked}.`,
  );
}

export function nameTakenError(name: string): WorkcrateError {
  return new WorkcrateError(
    'already_exists',
    `You have an open session ${quoteName(name)} already. Use it, close it, or choose another name.`,
  );
}

export function badNameError(): WorkcrateError {
  return new WorkcrateError(
    'invalid_input',
    'A name has 1 to 64 letters, digits, dots, dashes and underscores, begins with a letter or digit, and does not begin with sess_, as ids do.',
  );
}

export function noCheckpointError(session: Named, names: readonly string[]): WorkcrateError {
  const there = names.length === 0 ? 'It has none.' : `It has: ${names.map(quoteName).join(', ')}.`;
  return new WorkcrateError(
    'not_found',
    `The session ${nameSession(session)} has no such checkpoint. ${there} manage_session with action checkpoint makes one.`,
  );
}

export function tooManyCheckpointsError(most: number, names: readonly string[]): WorkcrateError {
  return new WorkcrateError(
    'quota_exceeded',
    `A session has at most ${most} checkpoints. Use one of these names again, which replaces it: ${names.map(quoteName).join(', ')}.`,
  );
}
