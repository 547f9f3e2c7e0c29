/** A session in JSON, as the tools answer it. It reads no rows. */
import { z } from 'zod';
import { languages } from '../../../ports/sandbox/sandbox.ts';
import { sessionEndReasons } from './ends.ts';
import type { ListedSession } from './sessions.ts';
import type { SessionRecord } from './store.ts';

/** What tools say of sessions in general, from the settings alone. */
export interface SessionTerms {
  readonly idleMs: number;
}

const endShape = z.object({ reason: z.enum(sessionEndReasons), because: z.string(), at: z.string() });

export const sessionShape = z.object({
  session_id: z.string(),
  name: z.string().nullable(),
  language: z.enum(languages),
  working_dir: z.string(),
  state: z.enum(['open', 'closed', 'ended']),
  end: endShape.nullable(),
  created_at: z.string(),
  last_used: z.string(),
  cells: z.number(),
  checkpoints: z.array(z.string()),
  elsewhere: z.boolean().describe('Open on another server, which alone can use it'),
});

/** A session that has just been opened. */
/** What `list_sessions` answers. */
export const sessionListShape = z.object({ sessions: z.array(sessionShape), count: z.number() });

export const newSessionShape = z.object({
  session_id: z.string(),
  name: z.string().nullable(),
  language: z.enum(languages),
  working_dir: z.string(),
  created_at: z.string(),
  idle_ms: z.number().describe('Without use, after which it ends'),
});

const toIso = (time: number): string => new Date(time).toISOString();

export const showNewSession = (
  { id, name, language, folder, createdAt }: SessionRecord,
  { idleMs }: SessionTerms,
): z.input<typeof newSessionShape> => ({
  session_id: id,
  name,
  language,
  working_dir: folder,
  created_at: toIso(createdAt),
  idle_ms: idleMs,
});

export function showSession(session: ListedSession): z.input<typeof sessionShape> {
  const { id, name, language, folder, state, end, createdAt, lastUsed, endedAt, cells } = session;
  return {
    session_id: id,
    name,
    language,
    working_dir: folder,
    state,
    end: end === null ? null : { reason: end.reason, because: end.text, at: toIso(endedAt ?? lastUsed) },
    created_at: toIso(createdAt),
    last_used: toIso(lastUsed),
    cells,
    checkpoints: [...session.checkpoints],
    elsewhere: state === 'open' && session.isElsewhere,
  };
}
