/** Facts of the contract that the program itself shows: one server with everything switched on is asked for them. */
import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { allSettings } from '../../src/server/settings.ts';
import { eventually } from '../../src/platform/eventually.testing.ts';
import { connectHost } from '../behaviour/apps/host.testing.ts';
import { run, serve, temporaryFolder, upload, type Program } from '../behaviour/cli/program.testing.ts';
import type { Facts } from './contract-source.testing.ts';

/** All that a running server shows, over MCP and HTTP and in its data folder. */
export async function readServerFacts(): Promise<Facts> {
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'data');
  const sandbox = ['--sandbox', 'subprocess', '--allow-sandbox', 'subprocess'];
  const everything = [...sandbox, '--guess-limit', '1000000', '--tools', 'all'];
  await using program = await serve(['--data', data, '--log-level', 'debug', ...everything]);
  await useOnce(program, data);
  const seen = [
    ...(await readMcp(program.url)),
    ...(await readViews(program.url)),
    ...(await readOpenApi(program.url)),
    ...(await probeRoutes(program.url)),
    ...(await readMetrics(program.url)),
  ];
  await program.end('SIGTERM');
  const logged = readLoggedLines(program.output.stderr);
  return [...seen, ...logged, ...readLines(data), ...readTables(data), ...readLayout(data)];
}

/** Leaves one of everything in the data folder. */
async function useOnce(program: Program, data: string): Promise<void> {
  const { file_id } = await upload(program, 'a.txt', 'hello');
  const shared = await program.call('share_file', { file_id });
  await (await fetch(shared.data.downloadUrl as string)).text();
  await program.call('execute_code', { language: 'bash', code: 'echo hello' });
  await program.call('sync_index', {});
  await program.call('get_artifact', { name: '../outside' });
  await program.call('no_such_tool', {}).catch(() => null);
  // Both come behind an answer.
  await eventually(() => globSync('logs/*.jsonl', { cwd: data }).length > 0);
  await eventually(() => program.output.stderr.includes('"sweep.done"'));
}

const loggedForSure = new Set(
  'crates.synced execution.ended link.served mcp.answered sweep.done tool.called upload.complete'.split(' '),
);

/** Lines with all their fields: what a call spreads into one, its text does not show. Not all are of a request. */
function readLoggedLines(stderr: string): Facts {
  const lines = stderr.trim().split('\n');
  return lines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ event, result = 'ok' }) => loggedForSure.has(String(event)) && result === 'ok')
    .map(({ request: _request, ...line }) => [`log line of ${String(line['event'])}`, Object.keys(line)]);
}

async function readMcp(url: string): Promise<Facts> {
  const client = new Client({ name: 'contract', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp?structured=1`)));
  const { tools } = await client.listTools();
  const { resourceTemplates } = await client.listResourceTemplates();
  const { prompts } = await client.listPrompts();
  const file = (await client.listResources()).resources.find(({ uri }) => uri.includes('//files/'))!;
  const { contents } = await client.readResource({ uri: file.uri });
  await client.complete({
    ref: { type: 'ref/prompt', name: 'write_report' },
    argument: { name: 'formats', value: '' },
  });
  await client.getPrompt({ name: 'find_data', arguments: { question: 'any' } });
  const capabilities = client.getServerCapabilities();
  const name = client.getServerVersion()?.name;
  await client.close();
  return [
    ...flatten('mcp server', { name, capabilities }),
    ...tools.flatMap(({ name: tool, ...facts }) => flatten(`tool ${tool}`, withoutTexts(facts))),
    ...resourceTemplates.flatMap(({ name: kind, ...facts }) =>
      flatten(`resource ${kind}`, withoutTexts(facts)),
    ),
    ...prompts.flatMap(({ name: prompt, arguments: taken = [] }) =>
      taken.map(({ name: argument, required }): [string, unknown] => [
        `prompt ${prompt} argument ${argument}`,
        required === true ? 'required' : 'optional',
      ]),
    ),
    ['resource in a list', Object.keys(file)],
    ['resource as read', Object.keys(contents[0]!)],
  ];
}

/** What only a host of MCP Apps is told. */
async function readViews(url: string): Promise<Facts> {
  const client = await connectHost(url);
  const { tools } = await client.listTools();
  const { resources } = await client.listResources();
  await client.close();
  const told = tools.filter(({ _meta }) => _meta?.['ui'] !== undefined);
  return [
    ...told.flatMap(({ name, inputSchema, _meta }) => {
      const { ui } = _meta as { ui: { visibility?: unknown } };
      const taken = ui.visibility === undefined ? {} : { inputSchema };
      return flatten(`view tool ${name}`, withoutTexts({ ui, ...taken }));
    }),
    ...resources
      .filter(({ uri }) => uri.startsWith('ui:'))
      .map(({ uri, mimeType }): [string, unknown] => [`view ${uri}`, mimeType]),
  ];
}

/** Texts for people may change: they are strings, so a field that has such a name stays. */
function withoutTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTexts);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, one]) => !(['description', 'title', 'summary'].includes(key) && typeof one === 'string'),
  );
  return Object.fromEntries(kept.map(([key, one]) => [key, withoutTexts(one)]));
}

/** One fact for each leaf. A list of plain values is one leaf; a list of objects is told by its positions. */
function flatten(name: string, value: unknown): Facts {
  const isPlain = (one: unknown): boolean => typeof one !== 'object' || one === null;
  if (isPlain(value) || (Array.isArray(value) && value.every(isPlain))) return [[name, value]];
  const entries = Object.entries(value as object);
  if (entries.length === 0) return [[name, {}]];
  return entries.flatMap(([key, one]) => flatten(`${name} ${key}`, one));
}

async function readOpenApi(url: string): Promise<Facts> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
  const { paths, components } = document;
  return flatten('openapi', withoutTexts({ paths, components }));
}

const paths = [
  '/',
  '/livez',
  '/readyz',
  '/metrics',
  '/status',
  '/openapi.json',
  '/executions',
  '/executions/exec_000000000000',
  '/local/artifacts',
  '/local/artifacts/none.txt',
  '/files/token',
  '/uploads/token',
  '/ask/token',
  '/mcp',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/nowhere',
];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** What each method of each route answers to a request that says nothing more. */
async function probeRoutes(url: string): Promise<Facts> {
  const requests = paths.flatMap((path) => methods.map((method) => ({ path, method })));
  return Promise.all(
    requests.map(async ({ path, method }): Promise<[string, unknown]> => {
      const answer = await fetch(url + path, { method, redirect: 'manual' });
      const [type, text] = [answer.headers.get('content-type'), await answer.text()];
      const code = answer.ok ? null : /"code": ?"?([\w-]+)/.exec(text)?.[1];
      const allow = answer.headers.get('allow');
      const told = [type, code, allow && `Allow: ${allow}`].filter(
        (one) => one !== null && one !== undefined,
      );
      return [`route ${path} ${method}`, [answer.status, ...told].join(' ')];
    }),
  );
}

async function readMetrics(url: string): Promise<Facts> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [`metric ${name} type`, type]);
}

/** The fields of lines in the audit log and the journal, in their order: the bytes of a line are hashed. */
function readLines(data: string): Facts {
  const linesOf = (pattern: string): Record<string, unknown>[] =>
    globSync(pattern, { cwd: data }).flatMap((path) =>
      readFileSync(join(data, path), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    );
  const audit = linesOf('audit/*.jsonl').flatMap((line): Facts => [
    [`audit line of ${String(line['operation'])} ${String(line['result'])}`, Object.keys(line)],
    [
      `audit line of ${String(line['operation'])} ${String(line['result'])} details`,
      Object.keys(line['details'] ?? {}),
    ],
  ]);
  const journal = linesOf('logs/*.jsonl').flatMap((line): Facts => [
    ['journal line', Object.keys(line)],
    ['journal line artifacts', Object.keys(line['artifacts'] as object)],
    ['journal line limits', Object.keys(line['limits'] as object)],
  ]);
  return [...audit, ...journal];
}

function readTables(data: string): Facts {
  // The index for searching is made anew whenever its tables change.
  const files = globSync('*.db', { cwd: data }).filter((file) => file !== 'crates-index.db');
  return files.flatMap((file) => {
    using database = new DatabaseSync(join(data, file), { readOnly: true });
    const tables = database
      .prepare(`SELECT type, name, tbl_name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'`)
      .all() as { type: string; name: string; tbl_name: string }[];
    return tables.flatMap(({ type, name, tbl_name }): Facts => {
      if (type !== 'table') return [[`database ${file} ${type} ${name}`, tbl_name]];
      const columns = database.prepare(`PRAGMA table_info(${name})`).all();
      return columns.map((column) => [
        `database ${file} table ${name} column ${String(column['name'])}`,
        `${String(column['type'])}${column['notnull'] ? ' NOT NULL' : ''}${column['pk'] ? ' PRIMARY KEY' : ''}`,
      ]);
    });
  });
}

function readLayout(data: string): Facts {
  return globSync('**', { cwd: data, exclude: (name) => /-(?:shm|wal|journal)$/.test(name) }).map((path) => {
    const stat = statSync(join(data, path));
    const name = path
      .replaceAll(/\d{4}-\d\d-\d\d/g, '{day}')
      .replaceAll(/[0-9a-f]{12,}/g, '{id}')
      .replace(/\/[0-9a-f]{2}(?=\/|$)/, '/{start of id}');
    return [`data folder ${name}${stat.isDirectory() ? '/' : ''}`, (stat.mode & 0o777).toString(8)];
  });
}

/** Empty ones count as not set: other tests set them to be quick. */
const defaultSettings = {
  WORKCRATE_SANDBOX: 'auto',
  WORKCRATE_PYTHON_PRELOAD: '',
  WORKCRATE_WARM_PYTHON: '',
  WORKCRATE_WARM_NODE: '',
  WORKCRATE_WARM_BASH: '',
};

/** Names, flags, variables and defaults of settings, and what each takes. Their help is free text. */
export async function readSettingFacts(): Promise<Facts> {
  await using folder = await temporaryFolder();
  const { stdout } = await run(['--print-config'], { cwd: folder.path, env: defaultSettings });
  const printed = [...stdout.matchAll(/^(\w+): (.*?) {2}# /gm)];
  const defaults = printed.map(([, key, value]): [string, unknown] => [
    `setting ${key} default`,
    key === 'python' ? 'found out' : (JSON.parse(value!.replace(folder.path, '{current folder}')) as unknown),
  ]);
  const declared = Object.entries(allSettings).flatMap(([key, setting]): Facts => {
    const name = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const { aliases = [], fileAlias = null, secret = false } = setting as Declared;
    return [
      [`setting ${name} flag`, `--${name.replaceAll('_', '-')}`],
      [`setting ${name} variables`, [`WORKCRATE_${name.toUpperCase()}`, ...aliases]],
      [`setting ${name} takes`, accepted(setting.kind)],
      ...(secret ? [[`setting ${name} secret`, true] satisfies [string, unknown]] : []),
      ...(fileAlias === null ? [] : [[`setting ${name} in a file`, fileAlias] satisfies [string, unknown]]),
    ];
  });
  return [...defaults, ...declared];
}

interface Declared {
  readonly aliases?: readonly string[];
  readonly fileAlias?: string;
  readonly secret?: boolean;
}

const samples = ['', 'a,b', 'https://example.org/x', '10.0.0.0/8'];
const narrowSamples = [
  '0',
  '1',
  '-1',
  '1.5',
  '64k',
  '8M',
  '90s',
  '2d',
  'true',
  '3-9',
  'example.org',
  '2026-01-02',
];

/**
 * What samples become. Where a setting does not take any word, those that it names are tried too: its bounds with
 * their neighbours, and the words to choose from.
 */
function accepted({ takes, parse }: { takes: string; parse: (text: string) => unknown }): unknown {
  const taken = (text: string): [string, unknown][] => {
    try {
      return [[text, parse(text)]];
    } catch {
      return [];
    }
  };
  if (taken('any word').length > 0) return Object.fromEntries(samples.flatMap(taken));
  const words = takes.split(/[^\w.-]+/);
  const bounds = words.filter((word) => /^\d+$/.test(word)).map(Number);
  const near = bounds.flatMap((bound) => [bound - 1, bound, bound + 1].map(String));
  const choices = words.flatMap(taken).filter(([word, value]) => String(value) === word);
  const found = [...samples, ...narrowSamples, ...near].flatMap(taken);
  return Object.fromEntries([...found, ...choices].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

const flagsIn = (text: string): string[] => text.split(/\s+/);

/** Every command with the flags that it takes besides the settings; those that take no value stand without one. */
const commands: Readonly<Record<string, readonly string[]>> = {
  serve: [],
  stdio: [],
  check: ['--read-data', '--adopt-storage', '--remove-orphans'],
  doctor: [],
  user: ['--scopes=x', '--expires=x', '--json'],
  usage: ['--json'],
  status: ['--url=x', '--key=x', '--json'],
  audit: flagsIn(
    '--json --user=x --operation=x --result=x --level=x --since=x --until=x --limit=1 --before=x',
  ),
  build: ['--to=x', '--bibliography=x', '--csl=x', '--style=x', '--reference-doc=x', '--output=x', '-o', 'x'],
  index: ['--json', '--user=x'],
  crates: flagsIn(`--json --user=x --mode=x --filter=x --filter=y --limit=1 --offset=1 --glob=x
    --title=x --description=x --license=x --author=x --author=y --keyword=x --keyword=y --shared`),
  replay: ['--json', '--user=x'],
};

/** Ways to end: with nothing to do, what is not known, a bad value, and commands that find nothing. */
const endings = [
  [],
  ['no-such-command'],
  ['--no-such-flag'],
  ['serve', '--port=x'],
  ['user', 'no-such-action'],
  ['crates', 'no-such-action'],
  ['audit', 'no-such-action'],
  ['audit', 'verify'],
  ['status', '--url=http://127.0.0.1:1'],
  ['-h'],
  ['-v'],
  ['--print-config', '--config=no-such-file.yaml'],
];

/** With which code each ends; 2 is for what was called wrongly. */
export async function readCommandFacts(): Promise<Facts> {
  await using folder = await temporaryFolder();
  const calls = [
    ...Object.entries(commands).map(([name, flags]) => [name, '--version', ...flags]),
    ...endings,
  ];
  const env = { WORKCRATE_DATA: join(folder.path, 'none') };
  return await Promise.all(
    calls.map(async (args): Promise<[string, unknown]> => [
      `command workcrate ${args.join(' ')}`.trim(),
      `exit code ${(await run(args, { env, cwd: folder.path })).code}`,
    ]),
  );
}
