/** What tests of the gateway share: a gateway on a file of its own, and calls as a user of it. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { AuditEvent } from '../../core/audit/audit.ts';
import { openDatabase } from '../../ports/database/open.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { isQuestion, type McpClient, type Question, type ToolContext } from '../../core/offer/tool.ts';
import { createLog } from '../../platform/observability/log.ts';
import { openGateway, type GatewayOptions } from './gateway.ts';
import { createPins } from './pins.ts';

const hostileServer = join(import.meta.dirname, 'hostile-server.testing.ts');

/** The hostile server, with flags and whatever else an entry may say. */
export const hostile = (flags: readonly string[] = [], more: object = {}) => ({
  command: process.execPath,
  args: [hostileServer, ...flags],
  timeout: 20_000,
  ...more,
});

export async function openTestGateway(file: object, more: Partial<GatewayOptions> = {}) {
  await using cleaning = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-gateway-'));
  cleaning.defer(() => rm(folder, { recursive: true, force: true }));
  const database = await openDatabase(join(folder, 'test.sqlite'));
  cleaning.defer(() => database.close());
  const path = join(folder, 'servers.json');
  const write = (servers: object): Promise<void> => writeFile(path, JSON.stringify(servers));
  await write(file);
  const logged: string[] = [];
  const audited: AuditEvent[] = [];
  const pins = createPins(database);
  const gateway = cleaning.use(
    openGateway({
      file: path,
      pins,
      readVariable: (name) => process.env[name],
      inherited: { PATH: process.env['PATH'] ?? '', HOME: folder },
      idleMs: 600_000,
      mostConnections: 50,
      askMs: 60_000,
      ownTools: () => new Set(['execute_code']),
      audit: { note: (event) => void audited.push(event) },
      log: createLog('debug', (line) => void logged.push(line)),
      ...more,
    }),
  );
  const all = cleaning.move();
  return {
    gateway,
    folder,
    pins,
    logged,
    audited,
    write,
    list: async (who: Who = {}) => (await gateway.toolbox.list(toContext(who))).map(({ name }) => name),
    ask: (name: string, input: Record<string, unknown> = {}, who: Who = {}) =>
      gateway.toolbox.call(name, input, toContext(who)),
    /** The text of a call that asks nobody. */
    async call(name: string, input: Record<string, unknown> = {}, who: Who = {}): Promise<string> {
      return toText(await gateway.toolbox.call(name, input, toContext(who)));
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

export interface Who extends Partial<Pick<ToolContext, 'signal' | 'progress'>> {
  readonly user?: string;
  readonly client?: Partial<McpClient>;
}

export const toContext = ({ user = 'ann', client = {}, ...more }: Who): ToolContext => ({
  caller: { user },
  signal: new AbortController().signal,
  stopping: new AbortController().signal,
  client: {
    name: 'test 1',
    connection: null,
    capabilities: {},
    answer: () => ({ kind: 'missing' }),
    state: null,
    ...client,
  },
  sharesMachine: false,
  mayUse: () => true,
  canWait: true,
  progress: () => {},
  task: null,
  ...more,
});

/** The text of an answer; of an error with its code before it. */
function toText(answer: CallToolResult | Question): string {
  if (isQuestion(answer)) throw new WorkcrateError('internal', 'It asked a question.');
  const [first] = answer.content as { text?: string }[];
  const { code } = (answer._meta?.['workcrate/error'] ?? {}) as { code?: string };
  const words = first?.text ?? '';
  return code === undefined ? words : `${code}: ${words}`;
}

/** Whether a process is there, and has not ended. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // What nobody has waited for has ended all the same.
    return process.platform !== 'linux' || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}
