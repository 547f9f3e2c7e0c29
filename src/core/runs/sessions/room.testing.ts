import type { ExecutionRequest } from '../executions.ts';
import { ada, openRoom, watching, type RoomOptions } from '../room.testing.ts';
import { join } from 'node:path';
import { createInputProvider } from '../../../features/packing/provide-input.ts';
import { createLog } from '../../../platform/observability/log.ts';
import type { Execution } from '../executions.ts';
import { filesOfRun } from '../../../features/provenance/provenance.ts';
import type { Sandbox } from '../../../ports/sandbox/sandbox.ts';
import { createSessions, type Sessions, type SessionsOptions } from './sessions.ts';

export type SessionRoom = Awaited<ReturnType<typeof openSessionRoom>>;

/** Sessions on the room of executions, with its database, folders and sandbox. */
export async function openSessionRoom(
  given: Partial<Omit<SessionsOptions, 'sandbox'>> & { sandbox: Sandbox; room?: RoomOptions },
) {
  await using opened = new AsyncDisposableStack();
  let sessions: Sessions | null = null;
  const { room: roomOptions = {}, sandbox, ...more } = given;
  const ended = (execution: Execution): void => sessions?.noteCell(execution);
  const room = opened.use(await openRoom({ ...roomOptions, sandbox, ended }));
  const options: SessionsOptions = {
    database: room.database,
    executions: room.executions,
    files: room.files,
    places: room.places,
    sandbox,
    filesOfCells: { ...filesOfRun, provide: createInputProvider({ ...room, keptResults: room.provenance }) },
    data: room.data,
    workspaces: join(room.data, 'places'),
    server: 'local',
    serverFolders: [room.data],
    mostOfUser: 5,
    idleMs: 900_000,
    keepFileSeconds: 3600,
    keepDays: 90,
    clock: Date.now,
    log: createLog('off'),
    ...more,
  };
  sessions = opened.use(createSessions(options));
  const all = opened.move();
  const current = sessions;

  /** Runs a cell as the tools do. */
  async function send(
    session: string,
    code: string,
    asked: Partial<ExecutionRequest> & { reset?: boolean; new?: 'python' | 'node' | 'bash' } = {},
    caller = ada,
  ) {
    const slot = await current.enter(caller, {
      session,
      language: asked.new ?? null,
      reset: asked.reset ?? false,
    });
    const { language, workingDir } = slot;
    const request = { tool: 'execute_code', stdin: '', timeoutMs: null, files: [], code, ...asked };
    const { execution } = await room.executions.run(
      caller,
      { ...request, language, workingDir, session: slot },
      watching(),
    );
    return { ...execution, slot };
  }

  return {
    room,
    sessions: current,
    options,
    send,
    /** Another server on the same data, as after a crash: what is open here is not closed. */
    another: (changes: Partial<SessionsOptions> = {}): Sessions => createSessions({ ...options, ...changes }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
