/**
 * The tool `manage_session`: interrupt, checkpoint, restore, fork, export and replay, in one tool, since each takes a
 * session and at most a name. What they do is in `going-back.ts` and `replay.ts`.
 */
import { z } from 'zod';
import type { Caller } from '../../identity.ts';
import type { AnswerOptions } from '../tools.ts';
import { makeText } from '../../offer/schema.ts';
import { linkShape, toLinkAnswer } from '../../links/link-result.ts';
import { declareTool, type ToolAnswer, type ToolContext } from '../../offer/tool.ts';
import { nameSession } from './errors.ts';
import type { MovedFiles } from './going-back.ts';
import type { Sessions } from './sessions.ts';
import { describeFiles, describeReplay } from './text.ts';

const actions = ['interrupt', 'checkpoint', 'restore', 'fork', 'export', 'replay'] as const;

/** What `manage_session` answers. */
export const sessionOutcomeShape = z.object({
  action: z.enum(actions),
  session_id: z.string().describe('The session; the new one after fork and replay'),
  name: z.string().nullable().describe('Its name'),
  checkpoint: z.string().optional(),
  from_session_id: z.string().optional(),
  cell: z.number().nullable().optional().describe('Interrupted, or after which the state was taken'),
  undone: z.number().optional().describe('Cells that a restore has undone'),
  files: z
    .object({ count: z.number(), bytes: z.number(), left_out: z.number() })
    .nullable()
    .optional()
    .describe('Of its own folder'),
  cells: z.number().optional().describe('Run again, or in the notebook'),
  different: z
    .array(
      z.object({
        cell: z.number(),
        before: z.string(),
        after: z.string(),
        fields: z.array(z.string()),
        files: z.array(z.string()).describe('That it made otherwise, by sha256'),
      }),
    )
    .optional(),
  notes: z.array(z.string()).optional(),
  notebook: linkShape.optional(),
});

type Outcome = ToolAnswer<z.input<typeof sessionOutcomeShape>>;
type Act = (options: ManageRoom, asked: Asked) => Promise<Outcome>;

export interface ManageRoom extends Pick<AnswerOptions, 'links' | 'linkSeconds' | 'baseUrl'> {
  readonly sessions: Sessions;
}

interface Asked {
  readonly caller: Caller;
  readonly session: string;
  readonly name: string | null;
  readonly signal: AbortSignal;
}

export const manageSessionTool = declareTool({
  name: 'manage_session',
  group: 'code',
  title: 'Go back, fork or replay a session',
  description:
    'interrupt stops the running code and keeps state; checkpoint and restore go back to a state (Python) with the files of the session folder; fork makes a second session of it; export gives a notebook by link; replay runs the code of any session, also one that ended, again in a new one, in /workspace and /artifacts of its own, and tells what differs.',
  input: z.strictObject({
    session_id: makeText(64, 'Its id or name'),
    action: z.enum(actions),
    name: makeText(64, 'Of the checkpoint, new session or notebook').optional(),
  }),
  output: sessionOutcomeShape,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  mayBeTask: true,
  auditFields: { subject: ['session_id'] },
  handle: (room: ManageRoom, { session_id: session, action, name = null }, { caller, signal }: ToolContext) =>
    acts[action](room, { caller, session, name, signal }),
});

const showFiles = (moved: MovedFiles) =>
  moved === null ? null : { count: moved.files, bytes: moved.bytes, left_out: moved.leftOut };

const acts: Readonly<Record<(typeof actions)[number], Act>> = {
  async interrupt({ sessions }, { caller, session }) {
    const { record, cell } = await sessions.interrupt(caller, session);
    const what = cell === null ? 'nothing was running' : `cell ${cell} was interrupted`;
    return {
      text: `Session ${nameSession(record)}: ${what}. The answer of the cell says whether the state was kept.`,
      structured: { action: 'interrupt', session_id: record.id, name: record.name, cell },
    };
  },

  async checkpoint({ sessions }, { caller, session, name, signal }) {
    const {
      record,
      name: checkpoint,
      cell,
      moved,
    } = await sessions.checkpoint(caller, session, name, signal);
    return {
      text: `Checkpoint ${checkpoint} of session ${nameSession(record)}, after cell ${cell}. ${describeFiles(moved, 'saved')} Go back with action restore; it lives as long as the session.`,
      structured: {
        action: 'checkpoint',
        session_id: record.id,
        name: record.name,
        checkpoint,
        cell,
        files: showFiles(moved),
      },
    };
  },

  async restore({ sessions }, { caller, session, name, signal }) {
    const {
      record,
      name: checkpoint,
      cell,
      undone,
      moved,
    } = await sessions.restore(caller, session, name, signal);
    return {
      text: `Session ${nameSession(record)} is as it was at checkpoint ${checkpoint}, after cell ${cell}; ${undone} cells since then are undone. ${describeFiles(moved, 'put back')} What else is in /workspace and /artifacts was left alone.`,
      structured: {
        action: 'restore',
        session_id: record.id,
        name: record.name,
        checkpoint,
        cell,
        undone,
        files: showFiles(moved),
      },
    };
  },

  async fork({ sessions }, { caller, session, name, signal }) {
    const { record, from, cell, moved } = await sessions.fork(caller, session, name, signal);
    return {
      text: `Session ${nameSession(record)} is a second one with the state of ${nameSession(from)} after cell ${cell}, in ${record.folder}. ${describeFiles(moved, 'copied')} The code of the two runs one at a time.`,
      structured: {
        action: 'fork',
        session_id: record.id,
        name: record.name,
        from_session_id: from.id,
        cell,
        files: showFiles(moved),
      },
    };
  },

  async export({ sessions, links, linkSeconds, baseUrl }, { caller, session, name }) {
    const { record, cells, file } = await sessions.exportNotebook(caller, session, name);
    const shared = await links.share(caller, file.id, { ttlSeconds: linkSeconds, singleUse: false });
    const { text, structured, content = [] } = toLinkAnswer(shared, baseUrl());
    return {
      text: `Session ${nameSession(record)} as a notebook of ${cells} cells: ${text}`,
      structured: { action: 'export', session_id: record.id, name: record.name, cells, notebook: structured },
      content,
    };
  },

  async replay({ sessions }, { caller, session, name, signal }) {
    const replay = await sessions.replay(caller, session, name, signal);
    const { record, from, cells, different, notes } = replay;
    return {
      text: describeReplay(replay),
      structured: {
        action: 'replay',
        session_id: record.id,
        name: record.name,
        from_session_id: from.id,
        cells,
        different: different.map(({ fields, files, ...rest }) => ({
          ...rest,
          fields: [...fields],
          files: [...files],
        })),
        notes: [...notes],
      },
    };
  },
};
