/**
 * What the tools of sessions say to a model: every fact, in few words. The line that a cell adds to its result is in
 * `core/runs/cell-slot.ts`.
 */
import { formatBytes, formatDuration, quoteName } from '../../../platform/text/text.ts';
import { nameSession } from './errors.ts';
import type { MovedFiles } from './going-back.ts';
import type { Replay } from './replay.ts';
import type { ClosedSession, ListedSession } from './sessions.ts';
import type { SessionRecord } from './store.ts';

const toSecond = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

export function describeNewSession(session: SessionRecord, idleMs: number): string {
  return [
    `Session ${nameSession(session)} is open: ${session.language} in ${quoteName(session.folder)}, since ${toSecond(session.createdAt)}.`,
    `Send code with send_to_session, or execute_code with this session_id. It ends after ${formatDuration(idleMs)} without use; close_session ends it before.`,
  ].join('\n');
}

export function describeClosedSession({
  id,
  name,
  cells,
  folder,
  keepsFiles,
}: Pick<ClosedSession, 'id' | 'name' | 'cells' | 'folder' | 'keepsFiles'>): string {
  const files = keepsFiles
    ? `Its files in ${quoteName(folder)} stay.`
    : `It had been replayed in folders of its own: ${quoteName(folder)} and the others go with it and its forks. pack_crate packs what is kept of its cells.`;
  return `Closed session ${nameSession({ id, name })} after ${cells} cells. ${files}`;
}

export function describeSessions(sessions: readonly ListedSession[]): string {
  if (sessions.length === 0)
    return 'You have no sessions, and none ended within a day. start_session makes one.';
  return sessions.map(describeSession).join('\n');
}

function describeSession(session: ListedSession): string {
  const { language, folder, state, end, createdAt, lastUsed, endedAt, cells, checkpoints } = session;
  const about = [
    `${language} in ${quoteName(folder)}`,
    `made ${toSecond(createdAt)}`,
    `last used ${toSecond(lastUsed)}`,
    `${cells} cells`,
    ...(checkpoints.length === 0 ? [] : [`checkpoints ${checkpoints.map(quoteName).join(', ')}`]),
    ...(state === 'open' && session.isElsewhere ? ['on another server, which alone can use it'] : []),
  ].join(', ');
  const what =
    end === null ? state : `${state} ${toSecond(endedAt ?? lastUsed)} (${end.reason}): ${end.text}`;
  return `${nameSession(session)} ${what}: ${about}.`;
}

export function describeFiles(moved: MovedFiles, verb: string): string {
  if (moved === null) return `No files were ${verb}: the session works in a folder that is not its own.`;
  const { files, bytes, leftOut } = moved;
  const left = leftOut === 0 ? '' : ` ${leftOut} links and other special files are not part of it.`;
  return `Files ${verb}: ${files} (${formatBytes(bytes)}).${left}`;
}

const mostDifferent = 20;

export function describeReplay({ record, from, cells, different, notes }: Replay): string {
  const outcome =
    different.length === 0 ? 'all had the same results' : `${different.length} had other results`;
  const more = different.length - mostDifferent;
  const own = `Its /workspace and /artifacts are its own, so what ${nameSession(from)} had made was left alone; they go with the session.`;
  return [
    `Ran ${cells} cells of ${nameSession(from)} again in the new session ${nameSession(record)}: ${outcome}.`,
    ...different
      .slice(0, mostDifferent)
      .map(
        ({ cell, before, after, fields, files }) =>
          `Cell ${cell}: other ${fields.join(', ')}${files.length === 0 ? '' : `: ${files.map(quoteName).join(', ')}`} (${before}, now ${after})`,
      ),
    ...(more > 0 ? [`and ${more} more cells`] : []),
    ...notes,
    own,
  ].join('\n');
}
