/**
 * Reads the file that names the servers behind the gateway: the `mcpServers` of other MCP programs, with keys of ours,
 * and packages with a manifest. All that is wrong is told with its place; values of variables never are.
 */
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { findNearest } from '../../platform/text/edit-distance.ts';
import { getErrno, WorkcrateError } from '../../platform/errors.ts';
import { userVariable, type HttpPlace, type ProcessPlace, type ServerEntry } from './entry.ts';
import { serverNamePattern } from './names.ts';
import { createRules } from './rules.ts';

export interface ReadOptions {
  /** Where `${NAME}` is looked up. */
  readonly readVariable: (name: string) => string | undefined;
}

export interface ServerFile {
  readonly servers: readonly ServerEntry[];
  /** Keys that mean nothing here, such as those of another program. */
  readonly ignored: readonly string[];
}

const maxServerFileBytes = 1024 * 1024;
const maxServers = 200;
const usualTimeoutMs = 120_000;
const maxTimeoutMs = 24 * 3_600_000;

const globList = z.array(z.string().min(1).max(200)).max(1000);
const filter = z.strictObject({ allow: globList.optional(), deny: globList.optional() });
const filtersByName = z.union([globList, z.record(z.string().min(1).max(200), filter)]);
const textRecord = z.record(z.string().min(1).max(200), z.string().max(100_000));

const ownKeys = {
  allow: globList.optional(),
  deny: globList.optional(),
  users: filtersByName.optional(),
  clients: filtersByName.optional(),
  sensitive: z.boolean().optional(),
  timeout: z.number().int().min(100).max(maxTimeoutMs).optional(),
  prefix: z.string().optional(),
  disabled: z.boolean().optional(),
  env: textRecord.optional(),
  args: z.array(z.string().max(100_000)).max(1000).optional(),
  cwd: z.string().min(1).max(4096).optional(),
};

const serverShape = {
  ...ownKeys,
  command: z.string().min(1).max(4096).optional(),
  url: z.string().min(1).max(4096).optional(),
  type: z.string().optional(),
  headers: textRecord.optional(),
};
const serverSchema = z.looseObject(serverShape);
const mcpbPackageShape = { ...ownKeys, path: z.string().min(1).max(4096) };
const packageSchema = z.looseObject(mcpbPackageShape);
const serverFileSchema = z.looseObject({
  mcpServers: z.record(z.string(), serverSchema).optional(),
  packages: z
    .array(z.union([z.string().min(1), packageSchema]))
    .max(maxServers)
    .optional(),
});

const mcpbManifestSchema = z.object({
  main: z.string().min(1).optional(),
  workcrate: z.object({
    mcpName: z.string(),
    transport: z.literal('stdio'),
    sensitive: z.boolean().optional(),
    command: z.string().min(1).optional(),
    timeout: z.number().int().min(100).max(maxTimeoutMs).optional(),
  }),
});

type ServerInFile = z.infer<typeof serverSchema>;

/** Reads the file, and the manifests of the packages that it names. */
export function readServerFile(path: string, options: ReadOptions): ServerFile {
  const file = parse(serverFileSchema, readJsonFile(path, path), path);
  const folder = dirname(resolve(path));
  const ignored: string[] = [];
  const ignore = (where: string, given: object, known: object): void =>
    void ignored.push(...listIgnored(where, Object.keys(given), Object.keys(known)));
  ignore(path, file, serverFileSchema.shape);
  const named = Object.entries(file.mcpServers ?? {}).map(([name, server]) => {
    ignore(`mcpServers.${name}`, server, serverShape);
    return { name, server, folder, where: `${path}, mcpServers.${name}` };
  });
  const packaged = (file.packages ?? []).map((given) => {
    const server = typeof given === 'string' ? { path: given } : given;
    ignore(`packages ${server.path}`, server, mcpbPackageShape);
    return readPackage(server, resolve(folder, server.path));
  });
  const servers = [...named, ...packaged]
    .filter(({ server }) => server.disabled !== true)
    .map((one) => toEntry(one, options));
  if (servers.length > maxServers)
    throw configError(path, `it names ${servers.length} servers, and may name ${maxServers}`);
  checkDifferent(servers, path);
  return { servers, ignored };
}

function readJsonFile(path: string, where: string): unknown {
  try {
    const bytes = readFileSync(path);
    if (bytes.length > maxServerFileBytes)
      throw configError(where, `it has more than ${maxServerFileBytes} bytes`);
    return JSON.parse(bytes.toString().replace(/^\uFEFF/, ''));
  } catch (error) {
    // The message of the parser quotes the file, which may hold a key.
    if (error instanceof SyntaxError) throw configError(where, 'it is not JSON');
    if (getErrno(error) === null) throw error;
    throw configError(where, `it cannot be read (${getErrno(error)}). Name another with --gateway`);
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw configError(where, path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`);
}

const configError = (where: string, what: string): WorkcrateError =>
  new WorkcrateError(
    'config_invalid',
    `The gateway cannot use ${where}: ${what}${what.endsWith('?') ? '' : '.'}`,
  );

/** A key that looks like one of ours was meant to be it, and could keep somebody out. Others belong to other programs. */
function listIgnored(where: string, given: readonly string[], known: readonly string[]): string[] {
  const unknown = given.filter((key) => !known.includes(key));
  for (const key of unknown) {
    const nearest = findNearest(key, known);
    if (nearest !== null)
      throw configError(where, `there is no ${JSON.stringify(key)}. Did you mean ${nearest}?`);
  }
  return unknown.map((key) => `${where}: ${key}`);
}

interface NamedServer {
  readonly name: string;
  readonly server: ServerInFile;
  readonly folder: string;
  /** Words for errors. */
  readonly where: string;
}

function readPackage({ path: _path, ...given }: z.infer<typeof packageSchema>, folder: string): NamedServer {
  const file = join(folder, 'package.json');
  const { main, workcrate: manifest } = parse(mcpbManifestSchema, readJsonFile(file, file), file);
  if (main === undefined) throw configError(file, 'its manifest needs main, the program to start');
  const { mcpName: name, sensitive, command = 'node', timeout } = manifest;
  const args = [resolve(folder, main), ...(given.args ?? [])];
  const terms = { ...(sensitive !== undefined && { sensitive }), ...(timeout !== undefined && { timeout }) };
  return { name, server: { ...terms, ...given, command, args }, folder, where: `${file}, workcrate` };
}

function toEntry({ name, server, folder, where }: NamedServer, options: ReadOptions): ServerEntry {
  const prefix = server.prefix ?? name;
  if (!serverNamePattern.test(prefix))
    throw configError(
      where,
      `${JSON.stringify(prefix.slice(0, 100))} cannot begin the names of tools: at most 40 of a-z, A-Z, 0-9, _ and -, first a letter or digit. Give the server a "prefix" that can`,
    );
  const variables = createVariables(options, where);
  const place = toPlace(server, folder, where, variables.fill);
  return {
    name: prefix,
    place,
    sensitive: server.sensitive ?? false,
    timeoutMs: server.timeout ?? usualTimeoutMs,
    rules: createRules(server),
    secrets: variables.listSecrets(place),
  };
}

type Expand = (text: string) => string;

function toPlace(
  server: ServerInFile,
  folder: string,
  where: string,
  fill: Expand,
): ProcessPlace | HttpPlace {
  const { command, url, type } = server;
  if ((command === undefined) === (url === undefined))
    throw configError(where, 'a server has either a "command" to start it or the "url" where it is');
  const types = command === undefined ? httpTypes : ['stdio'];
  if (type !== undefined && !types.includes(type))
    throw configError(where, `its "type" can be ${types.join(' or ')}, not ${JSON.stringify(type)}`);
  const fillAll = (given: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(given).map(([key, text]) => [key, fill(text)]));
  if (url !== undefined)
    return { kind: 'http', url: checkHttpUrl(fill(url), where), headers: fillAll(server.headers) };
  return {
    kind: 'stdio',
    command: fill(command!),
    args: (server.args ?? []).map(fill),
    env: fillAll(server.env),
    cwd: resolve(folder, fill(server.cwd ?? '.')),
  };
}

const httpTypes = ['http', 'streamable-http', 'streamableHttp'];

function checkHttpUrl(text: string, where: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw configError(where, 'its "url" is not an HTTP URL');
  return text;
}

/** Names of variables and headers whose values are secret. */
const secretName = /key|token|secret|passw|credential|auth|cookie|private|signature/i;
/** Shorter values would be found in any text. */
const minHiddenLength = 8;

function createVariables({ readVariable }: ReadOptions, where: string) {
  const secrets = new Set<string>();
  const add = (value: string): void => {
    if (value.length >= minHiddenLength) secrets.add(value);
  };
  const fill: Expand = (text) =>
    text.replaceAll(/\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g, (whole, name: string, otherwise?: string) => {
      if (name === userVariable) return whole;
      const value = readVariable(name) ?? otherwise;
      if (value === undefined) throw configError(where, `the environment variable ${name} is not set`);
      if (secretName.test(name)) add(value);
      return value;
    });
  /** `Bearer x` is as secret as `x`. The longest first, so that none is left in part. */
  const listSecrets = (place: ProcessPlace | HttpPlace): string[] => {
    const named = Object.entries(place.kind === 'http' ? place.headers : place.env);
    for (const [name, value] of named)
      if (place.kind === 'http' || secretName.test(name))
        for (const part of [value, value.split(' ').at(-1)!]) add(part);
    if (place.kind === 'http') add(URL.parse(place.url)?.password ?? '');
    return [...secrets].toSorted((one, other) => other.length - one.length);
  };
  return { fill, listSecrets };
}

function checkDifferent(servers: readonly ServerEntry[], path: string): void {
  const seen = new Set<string>();
  for (const server of servers) {
    if (seen.has(server.name))
      throw configError(
        path,
        `two servers begin the names of their tools with ${server.name}_. Give one of them another "prefix"`,
      );
    seen.add(server.name);
  }
}

const watchIntervalMs = 1000;

/**
 * Says when a file has changed. By asking for its state: editors replace files, and what a container mounts is a link that
 * is switched, which no watch of a single file notices.
 */
export function watchFileChanges(path: string, changed: () => void): Disposable {
  const listener = (): void => changed();
  watchFile(path, { interval: watchIntervalMs, persistent: false }, listener);
  return { [Symbol.dispose]: () => unwatchFile(path, listener) };
}
