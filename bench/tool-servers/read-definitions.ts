/**
 * The tool definitions of real MCP servers, for the bench of the search for tools. Each server is installed from npm,
 * started in a sandbox without a network and asked for its list. `--count` prints how many tools each has, and no text.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type Tool } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';
import { installLocked } from '../../test/clients/packages.testing.ts';
import { hashDefinition, type ToolDefinition } from '../../src/core/offer/toolbox.ts';

const serverSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9]{0,15}$/),
  package: z.string(),
  /** The program's file in the package. */
  main: z.string(),
  args: z.array(z.string()).optional(),
  /** What it wants to be told before it starts. All made up. */
  env: z.record(z.string(), z.string()).optional(),
});

type Server = z.infer<typeof serverSchema>;

const here = import.meta.dirname;
const serversText = readFileSync(join(here, 'servers.json'), 'utf8');
const servers = z.array(serverSchema).parse(JSON.parse(serversText));

/** Long enough for the slowest on a busy machine. */
const startTimeout = 90_000;
const atOnce = 2;

export interface Definitions {
  readonly tools: readonly ToolDefinition[];
  /** The servers that could not be asked, and why. */
  readonly failures: readonly { readonly server: string; readonly reason: string }[];
}

/** The tools of all servers, from the cache if all of them answered before. */
export async function readDefinitions(): Promise<Definitions> {
  const packages = await installLocked(
    here,
    'tool-servers',
    'the MCP servers of bench/tool-servers: about 1.5 GB, once',
  );
  const hash = createHash('sha256').update(serversText).digest('hex').slice(0, 16);
  const cached = join(dirname(packages), `definitions-${hash}.json`);
  if (existsSync(cached)) return { tools: JSON.parse(readFileSync(cached, 'utf8')), failures: [] };
  const definitions = await askAll(packages);
  if (definitions.failures.length === 0) {
    writeFileSync(`${cached}.${process.pid}`, JSON.stringify(definitions.tools));
    renameSync(`${cached}.${process.pid}`, cached);
  }
  return definitions;
}

async function askAll(packages: string): Promise<Definitions> {
  const answers = new Map<string, readonly ToolDefinition[]>();
  const failures: { server: string; reason: string }[] = [];
  const waiting = servers.values();
  const askSome = async () => {
    for (const server of waiting)
      try {
        answers.set(server.name, await askServer(server, packages));
      } catch (error) {
        failures.push({
          server: server.name,
          reason: error instanceof Error ? error.message : String(error),
        });
      }
  };
  await Promise.all(Array.from({ length: atOnce }, askSome));
  return { tools: servers.flatMap(({ name }) => answers.get(name) ?? []), failures };
}

async function askServer(server: Server, packages: string): Promise<ToolDefinition[]> {
  const home = mkdtempSync(join(tmpdir(), 'workcrate-tool-server-'));
  const transport = new StdioClientTransport({ ...confine(server, packages, home), stderr: 'pipe' });
  const client = new Client({ name: 'workcrate-bench', version: '1.0.0' });
  let said = '';
  transport.stderr?.on('data', (data: Buffer) => (said = `${said}${data.toString()}`.slice(-2000)));
  try {
    const tools = await Promise.race([connectAndList(client, transport), failAfter(startTimeout)]);
    return tools.map((tool) => defineTool(server.name, tool));
  } catch (error) {
    const lines = said.trim().split('\n');
    throw new Error(`${String(error)}; ${lines.slice(-6).join(' | ').slice(0, 600)}`, { cause: error });
  } finally {
    await client.close();
    rmSync(home, { recursive: true, force: true });
  }
}

async function failAfter(milliseconds: number): Promise<never> {
  await sleep(milliseconds, undefined, { ref: false });
  throw new Error(`no answer within ${milliseconds / 1000} s`);
}

async function connectAndList(client: Client, transport: StdioClientTransport): Promise<Tool[]> {
  await client.connect(transport, { timeout: startTimeout });
  const found: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    found.push(...page.tools);
    cursor = page.nextCursor === cursor ? undefined : page.nextCursor;
  } while (cursor !== undefined);
  return found;
}

/**
 * The command in a sandbox: no network, system and packages read-only, a home of its own. All that it starts ends with
 * it, since they share its process namespace.
 */
function confine({ package: name, main, args = [], env = {} }: Server, packages: string, home: string) {
  const readOnly = ['/usr', '/bin', '/lib', '/lib64', '/etc', dirname(process.execPath), packages];
  const inside = '/home/user';
  const given: Record<string, string> = {
    HOME: inside,
    PATH: '/usr/bin:/bin',
    TMPDIR: '/tmp',
    NO_COLOR: '1',
    ...env,
  };
  return {
    command: 'bwrap',
    args: [
      '--unshare-all --die-with-parent --new-session --clearenv --proc /proc --dev /dev --tmpfs /tmp'.split(
        ' ',
      ),
      readOnly.flatMap((path) => ['--ro-bind-try', path, path]),
      ['--bind', home, inside, '--chdir', inside],
      Object.entries(given).flatMap(([key, value]) => ['--setenv', key, value]),
      ['--', process.execPath, join(packages, name, main), ...args],
    ].flat(),
  };
}

function defineTool(server: string, tool: Tool): ToolDefinition {
  const { name, title, description = '', inputSchema, outputSchema, annotations = {} } = tool;
  return {
    name: `${server}_${name}`.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64),
    server,
    nameThere: name,
    title: title ?? annotations.title ?? null,
    description,
    inputSchema,
    outputSchema: outputSchema ?? null,
    annotations,
    hash: hashDefinition(tool),
  };
}

if (import.meta.main) {
  const { tools, failures } = await readDefinitions();
  const counts = Map.groupBy(tools, ({ server }) => server);
  if (process.argv.includes('--count'))
    for (const [server, its] of counts) console.log(`${String(its.length).padStart(4)} ${server}`);
  console.log(`${String(tools.length).padStart(4)} tools of ${counts.size} servers`);
  for (const { server, reason } of failures) console.error(`left out: ${server}: ${reason}`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}
