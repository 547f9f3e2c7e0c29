import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { McpServerFactory } from '@modelcontextprotocol/server';
import { loadConfig, type ServerConfig as Config } from '../../../src/server/settings.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { createLog } from '../../../src/platform/observability/log.ts';
import { startWorkcrate } from '../../../src/server/start.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { addUser } from '../../../src/core/users/keys.ts';

/** A real server in this process. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  readonly stdio: boolean;
  readonly factory: McpServerFactory;
  readonly config: Config;
  /** What was logged, as text. */
  readonly logged: string[];
  /** Adds a user who may use these tools, and gives the key. */
  key(user: string): Promise<string>;
  /** The lines of its audit once there is one that fits, and then all of those that do. */
  audited(fits: (line: AuditLine) => boolean): Promise<AuditLine[]>;
}

export interface AuditLine {
  readonly level: string;
  readonly operation: string;
  readonly user: string;
  readonly client: string | null;
  readonly subject: string | null;
  readonly result: string;
  readonly details?: Record<string, unknown>;
}

export async function serve(transport: 'stdio' | 'HTTP', overrides: Partial<Config> = {}): Promise<Served> {
  await using started = new AsyncDisposableStack();
  const data = await mkdtemp(join(tmpdir(), 'workcrate-bridge-'));
  started.defer(() => rm(data, { recursive: true, force: true }));
  const usual = { sandbox: 'off', pythonPreload: [], structured: true, guessLimit: 1e6 } as const;
  const config: Config = { ...loadConfig({ data, port: '0' }, {}).config, ...usual, ...overrides };
  const logged: string[] = [];
  const log = createLog('debug', (line) => void logged.push(line));
  const stdio = transport === 'stdio';
  const { url, factory } = started.use(await startWorkcrate(config, { sharesMachine: stdio, log }));
  const all = started.move();
  return {
    url,
    stdio,
    factory,
    config,
    logged,
    async key(user) {
      const database = await openDatabase(getDatabaseLocation(config));
      try {
        return await addUser(database, user, { scopes: ['client', 'files'], expiresAt: null }, Date.now());
      } finally {
        await database.close();
      }
    },
    async audited(fits) {
      let found: AuditLine[] = [];
      await eventually(async () => (found = (await auditOf(data)).filter(fits)).length > 0);
      return found;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** All that stands in the audit so far; a line that is being written is left for the next look. */
async function auditOf(data: string): Promise<AuditLine[]> {
  const folder = join(data, 'audit');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).sort();
  const files = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return files.flatMap((text) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditLine),
  );
}
