/**
 * The way of a cell into its session: finds it by id or name, makes one where a name has none, begins one anew, and says
 * what became of the one before. How a session is opened and ended is in `registry.ts`.
 */
import type { Clock } from '../../../platform/clock.ts';
import type { CellSlot, WantedSession } from '../cell-slot.ts';
import type { Caller } from '../../identity.ts';
import type { Language } from '../../../ports/sandbox/sandbox.ts';
import { resetEnd } from './ends.ts';
import { nameSession, otherLanguageError, sessionEndedError, unknownSessionError } from './errors.ts';
import { emptyHistory } from './history.ts';
import { takeSlot, type LiveSession } from './live.ts';
import type { NewSession, Registry } from './registry.ts';
import { sessionIdForm, type SessionRecord } from './store.ts';

export interface Entrance {
  /** Opens a session with nothing in it. */
  startNew(caller: Caller, wanted: Omit<NewSession, 'history'>): Promise<LiveSession>;
  /** The next slot of a session. Of calls that come at once with one new name, the first makes the session. */
  enter(caller: Caller, wanted: WantedSession): Promise<CellSlot>;
}

export function createEntrance(registry: Registry, clock: Clock): Entrance {
  const startNew: Entrance['startNew'] = (caller, wanted) =>
    registry.open(caller, { ...wanted, history: emptyHistory }, (sandbox, request) =>
      sandbox.startSession(request),
    );

  function enterLive(session: LiveSession, language: Language | null, notes: readonly string[]): CellSlot {
    const { record } = session;
    if (language !== null && language !== record.language) throw otherLanguageError(record, language);
    return takeSlot(session, { notes, clock, ended: (end) => registry.finish(session, end) });
  }

  async function enterNew(caller: Caller, { session: idOrName, language }: WantedSession): Promise<CellSlot> {
    const before = await registry.findRecord(caller, idOrName);
    const chosen = language ?? before?.language ?? null;
    const isId = sessionIdForm.test(idOrName);
    if (before !== null && isId) throw sessionEndedError(before, before.end!);
    if (chosen === null || isId) throw unknownSessionError();
    const session = await startNew(caller, { name: idOrName, language: chosen, workingDir: null });
    return enterLive(session, null, [describeNew(before)]);
  }

  async function beginAnew(caller: Caller, session: LiveSession, asked: Language | null): Promise<CellSlot> {
    await registry.close(session, resetEnd);
    const { name, language, folder } = session.record;
    const workingDir = session.ownFolder === null ? folder : null;
    const anew = await startNew(caller, { name, language: asked ?? language, workingDir });
    const note = `Begun anew: ${nameSession(session.record)} was closed, and its variables are gone.`;
    return enterLive(anew, null, [note]);
  }

  return {
    startNew,
    async enter(caller, wanted) {
      const known = wanted.reset ? null : registry.find(caller, wanted.session);
      if (known !== null) return enterLive(known, wanted.language, []);
      return registry.byOwner(caller.user, async () => {
        const session = registry.find(caller, wanted.session);
        if (session === null) return enterNew(caller, wanted);
        if (wanted.reset) return beginAnew(caller, session, wanted.language);
        return enterLive(session, wanted.language, []);
      });
    },
  };
}

function describeNew(before: SessionRecord | null): string {
  if (before === null) return 'This is a new session.';
  const { end, id, cells } = before;
  if (end!.reason === 'closed' || end!.reason === 'reset')
    return `This is a new session; the one before, ${id}, was closed.`;
  return `This is a new session without the variables of the one before, ${id}, which ended because ${end!.text}. To run its ${cells} cells again: manage_session with session_id ${id} and action replay.`;
}
