import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { checkSandbox } from '../src/cli/doctor-sandbox.ts';
import { loadConfig, type ServerConfig as Config } from '../src/server/settings.ts';
import { startServer, type TestServer, type ToolReply } from './server.testing.ts';

/** Where the runner says why bubblewrap does not work, or nothing: to find out takes a second, and once is enough. */
export const noSandboxVariable = 'WORKCRATE_TEST_NO_SANDBOX';

/** False where bubblewrap works, else why not, for `skip`. */
export const noSandbox: string | false = await whyNot();

async function whyNot(): Promise<string | false> {
  const told = process.env[noSandboxVariable];
  if (told !== undefined) return told !== '' && told;
  const [first] = await checkSandbox({ ...loadConfig({}, {}).config, pythonPreload: [] });
  return first!.state === 'ok' ? false : `${first!.what}: ${first!.remedy}`;
}

/** A server whose sandbox is ready, for the tests of a suite. */
export function useCodeServer(overrides: Partial<Config> = {}): () => TestServer {
  let server: TestServer | null = null;
  before(async () => void (server = await startServer({ sandbox: 'bubblewrap', ...overrides })));
  after(() => server?.[Symbol.asyncDispose]());
  return () => server!;
}

/** Runs code that has to run; what it did is for the test to judge. */
export async function run(
  server: TestServer,
  language: 'python' | 'node' | 'bash',
  code: string,
  more: Record<string, unknown> = {},
): Promise<ToolReply['data']> {
  const reply = await server.call('execute_code', { language, code, ...more });
  assert.equal(reply.failed, false, reply.text);
  return reply.data;
}
