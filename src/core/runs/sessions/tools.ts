/**
 * The tools `start_session`, `send_to_session`, `close_session`, `list_sessions` and `manage_session`. They translate
 * between MCP and `sessions.ts`; a cell is run and answered as by execute_code. The texts are in `text.ts`.
 */
import { z } from 'zod';
import { clientFilesInput, crateFilesInput } from '../client-and-crate-files.ts';
import { codeText, filesInput, makeTimeout, networkInput, stdinText } from '../schema.ts';
import {
  hideNetwork,
  makeEndedShape,
  runCell,
  toRunAnnotations,
  type RunsRoom,
  type RunTerms,
} from '../tools.ts';
import { hideArguments, listAs, makeText } from '../../offer/schema.ts';
import { declareTool, type DeclaredTool } from '../../offer/tool.ts';
import { languages } from '../../../ports/sandbox/sandbox.ts';
import { manageSessionTool } from './manage-tool.ts';
import type { Sessions } from './sessions.ts';
import {
  sessionListShape,
  showSession,
  showNewSession,
  newSessionShape,
  type SessionTerms,
} from './schema.ts';
import { describeClosedSession, describeSessions, describeNewSession } from './text.ts';

export interface SessionsRoom extends Omit<RunsRoom, 'sessions'>, SessionTerms {
  readonly sessions: Sessions;
}

export const declareSessionTools = (terms: RunTerms): DeclaredTool<SessionsRoom>[] => [
  startTool,
  declareSendTool(terms),
  closeTool,
  listTool,
  manageSessionTool,
];

const sessionId = makeText(64, 'Its id or name');
const quietAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
};

const startTool = declareTool({
  name: 'start_session',
  group: 'code',
  title: 'Start a session',
  description:
    'Starts a Python, Node or Bash that keeps variables, imports, functions and the working directory from call to call. execute_code with a name of yours as session_id does so too.',
  searchHint: 'stateful, notebook, REPL, kernel, keep variables',
  input: z.strictObject({
    language: z.enum(languages),
    name: makeText(64, 'Of yours; letters, digits, . _ -').optional(),
    working_dir: makeText(4096, 'Default: a folder of its own').optional(),
  }),
  output: newSessionShape,
  annotations: quietAnnotations,
  auditFields: { subject: ['name'], made: ['session_id'] },
  async handle(
    { sessions, idleMs }: SessionsRoom,
    { language, name = null, working_dir: workingDir = null },
    { caller },
  ) {
    const record = await sessions.start(caller, { language, name, workingDir });
    return { text: describeNewSession(record, idleMs), structured: showNewSession(record, { idleMs }) };
  },
});

const asInExecuteCode = { type: 'array', items: { type: 'string' }, description: 'As in execute_code' };

function declareSendTool(terms: RunTerms) {
  return declareTool({
    name: 'send_to_session',
    view: 'ui://workcrate/run',
    group: 'code',
    title: 'Run code in a session',
    description: 'Runs code in a session, after what was sent before, and answers as execute_code does.',
    input: hideArguments(
      z.strictObject({
        session_id: sessionId,
        code: codeText,
        timeout_ms: makeTimeout(terms).optional(),
        stdin: stdinText.optional(),
        files: listAs(filesInput, asInExecuteCode),
        crate_files: listAs(crateFilesInput, asInExecuteCode),
        client_files: listAs(clientFilesInput, asInExecuteCode),
        background: z.boolean().optional().describe('As in execute_code'),
        show: z.boolean().optional().describe('As in execute_code'),
        network: networkInput,
      }),
      hideNetwork(terms),
    ),
    output: makeEndedShape(terms.record),
    annotations: toRunAnnotations(terms),
    mayBeTask: true,
    auditFields: {
      subject: [],
      made: ['execution_id'],
      failed: ['session_id'],
      files: ['files', 'client_files', 'crate_files'],
      runEnd: { reason: 'end_reason', exitCode: 'exit_code', background: 'background' },
    },
    async handle(room: SessionsRoom, { session_id, ...cell }, context) {
      const wanted = { session: session_id, language: null, reset: false };
      return runCell(room, context, { ...cell, tool: 'send_to_session', wanted });
    },
  });
}

const closeTool = declareTool({
  name: 'close_session',
  group: 'code',
  title: 'Close a session',
  description: 'Ends a session and what runs in it. Its files stay, but those of a replay do not.',
  input: z.strictObject({ session_id: sessionId }),
  output: z.object({
    session_id: z.string(),
    name: z.string().nullable(),
    cells: z.number(),
    folder: z.string(),
  }),
  annotations: { ...quietAnnotations, destructiveHint: true },
  auditFields: { subject: ['session_id'] },
  async handle({ sessions }: SessionsRoom, { session_id }, { caller }) {
    const closed = await sessions.close(caller, session_id);
    const { id, name, cells, folder } = closed;
    return {
      text: describeClosedSession(closed),
      structured: { session_id: id, name, cells, folder },
    };
  },
});

const listTool = declareTool({
  name: 'list_sessions',
  group: 'code',
  title: 'List sessions',
  description: 'Lists your open sessions, and those that ended within a day with the reason.',
  input: z.strictObject({}),
  output: sessionListShape,
  annotations: { readOnlyHint: true, openWorldHint: false },
  auditFields: { subject: [] },
  async handle({ sessions }: SessionsRoom, _input, { caller }) {
    const listed = await sessions.list(caller);
    return {
      text: describeSessions(listed),
      structured: { sessions: listed.map(showSession), count: listed.length },
    };
  },
});
