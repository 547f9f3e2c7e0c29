/**
 * A session as people see it: its cells in order and which of them were undone, its checkpoints with their times, where it
 * was forked from and what was forked from it. It reads no records of cells, and changes nothing.
 */
import type { Caller } from '../../identity.ts';
import { unknownSessionError } from './errors.ts';
import type { Room } from './going-back.ts';
import { isUndone, type History } from './history.ts';
import { findSession, listSessions, type SessionRecord } from './store.ts';

export interface OutlinedCell {
  /** Of the execution. */
  readonly id: string;
  readonly cell: number;
  readonly isUndone: boolean;
}

/** A session that is related by a fork, and after which cell it parted. */
export interface RelatedSession {
  readonly id: string;
  readonly name: string | null;
  readonly cell: number;
}

export interface SessionOutline {
  readonly record: SessionRecord;
  /** Whether its interpreter is in another server. */
  readonly isElsewhere: boolean;
  readonly cells: readonly OutlinedCell[];
  readonly checkpoints: readonly { readonly name: string; readonly cell: number; readonly savedAt: number }[];
  readonly forkedFrom: RelatedSession | null;
  readonly forks: readonly RelatedSession[];
}

/** Forks are looked for among so many sessions. */
const maxSearched = 200;

export async function outlineSession(
  { database, executions, registry, server }: Room,
  caller: Caller,
  idOrName: string,
): Promise<SessionOutline> {
  const record = await findSession(database, caller.user, idOrName);
  if (record === null) throw unknownSessionError();
  const live = registry.live.get(record.id);
  const { undone, base }: History = live?.history ?? record.history;
  const others = await listSessions(database, caller.user, 0, maxSearched);
  const parent = base && (others.find(({ id }) => id === base.session) ?? null);
  const cells = await executions.listCells(caller, record.id);
  return {
    record: live === undefined ? record : { ...record, cells: live.cells, lastUsed: live.lastUsed },
    isElsewhere: live === undefined && record.state === 'open' && record.server !== server,
    cells: cells.map(({ id, cell }) => ({ id, cell, isUndone: isUndone(undone, cell) })),
    checkpoints: [...(live?.checkpoints ?? [])].map(([name, { mark, savedAt }]) => ({
      name,
      cell: mark.cell,
      savedAt,
    })),
    forkedFrom: base && { id: base.session, name: parent?.name ?? null, cell: base.cell },
    forks: others.flatMap(({ id, name, history }) =>
      history.base?.session === record.id ? [{ id, name, cell: history.base.cell }] : [],
    ),
  };
}
