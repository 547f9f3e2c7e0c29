import { parseArgs } from 'node:util';
import { auditHelp } from './commands/audit-help.ts';
import type { CommandInput } from './commands/command.ts';
import { helpText } from './commands/help.ts';
import { flagOptions, loadConfig, printConfig, type LoadedConfig } from './config.ts';
import { isWorkcrateError, WorkcrateError } from './errors.ts';
import { createLog } from './log.ts';
import { packageVersion } from './version.ts';

/** What stands behind a command is for it alone; most take nothing. */
type Run = (input: CommandInput & { readonly words: readonly string[] }) => Promise<number>;

/** Each is loaded when it is asked for: loading the server takes most of a start, and `check` needs none. */
const commands: Record<string, () => Promise<Run>> = {
  serve: async () => (await import('./commands/serve.ts')).serve,
  stdio: async () => (await import('./commands/stdio.ts')).stdio,
  check: async () => (await import('./commands/check.ts')).check,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  user: async () => (await import('./commands/user.ts')).user,
  usage: async () => (await import('./commands/usage.ts')).usage,
  status: async () => (await import('./commands/status.ts')).status,
  audit: async () => (await import('./commands/audit.ts')).audit,
  build: async () => (await import('./commands/build.ts')).build,
  index: async () => (await import('./commands/crates.ts')).index,
  crates: async () => (await import('./commands/crates.ts')).crates,
  replay: async () => (await import('./commands/replay.ts')).replay,
};

/** Those that take words behind them; to all others each is one too many. */
const wordy: ReadonlySet<string> = new Set(['user', 'crates', 'replay', 'build', 'audit']);

async function main(argv: string[]): Promise<number> {
  const { command, words, flags } = parse(argv);
  if (flags['version'] !== undefined) return print(`${packageVersion}\n`);
  if (flags['help'] !== undefined) return print(command === 'audit' ? auditHelp : helpText());
  if (command === null && flags['print-config'] === undefined)
    throw usage(`say what to do: ${Object.keys(commands).join(', ')}`);
  const loaded = loadConfig(flags);
  warnOfUnknown(loaded);
  if (flags['print-config'] !== undefined) return print(printConfig(loaded));
  const run = await commands[command!]!();
  return run({ ...loaded, flags, words });
}

/** A misspelt variable does nothing, and whoever set it should not have to find that out. */
function warnOfUnknown({ config, unknown }: LoadedConfig): void {
  const log = createLog(config.logLevel);
  for (const { variable, nearest } of unknown)
    log.warn('config.unknown_variable', { variable, ...(nearest === null ? {} : { did_you_mean: nearest }) });
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

interface Parsed {
  readonly command: string | null;
  readonly words: readonly string[];
  readonly flags: Record<string, string | undefined>;
}

function parse(argv: string[]): Parsed {
  const { values, positionals } = parseFlags(argv);
  const [command = null, ...words] = positionals;
  if (command !== null && !Object.hasOwn(commands, command))
    throw usage(
      `there is no command ${JSON.stringify(command)}; there are ${Object.keys(commands).join(', ')}`,
    );
  if (words.length > 0 && command !== null && !wordy.has(command))
    throw usage(`${JSON.stringify(words[0])} is one word too many`);
  const flags = Object.entries(values).map(([name, value]) => [name, textOf(value)]);
  return { command, words, flags: Object.fromEntries(flags) as Record<string, string> };
}

/** What may be given several times is one line for each. */
const textOf = (value: string | boolean | (string | boolean)[]): string =>
  Array.isArray(value) ? value.join('\n') : String(value);

function parseFlags(argv: string[]) {
  try {
    return parseArgs({ args: argv, options: { ...flagOptions(), ...ownFlags }, allowPositionals: true });
  } catch (error) {
    throw usage(firstSentence(error instanceof Error ? error.message : String(error)));
  }
}

/** Node goes on with advice that is not about this program. */
const firstSentence = (text: string): string => text.split(/\n|\. /, 1)[0]!.replace(/\.$/, '');

const ownFlags = {
  config: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  'print-config': { type: 'boolean' },
  'read-data': { type: 'boolean' },
  'adopt-storage': { type: 'boolean' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  json: { type: 'boolean' },
  url: { type: 'string' },
  key: { type: 'string' },
  user: { type: 'string' },
  mode: { type: 'string' },
  filter: { type: 'string', multiple: true },
  limit: { type: 'string' },
  offset: { type: 'string' },
  glob: { type: 'string' },
  title: { type: 'string' },
  description: { type: 'string' },
  license: { type: 'string' },
  author: { type: 'string', multiple: true },
  keyword: { type: 'string', multiple: true },
  shared: { type: 'boolean' },
  to: { type: 'string' },
  level: { type: 'string' },
  operation: { type: 'string' },
  result: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  before: { type: 'string' },
  bibliography: { type: 'string' },
  csl: { type: 'string' },
  style: { type: 'string' },
  'reference-doc': { type: 'string' },
  output: { type: 'string', short: 'o' },
} as const;

function usage(problem: string): WorkcrateError {
  return new WorkcrateError('config_invalid', `${problem}. See workcrate --help.`);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!isWorkcrateError(error)) throw error;
  process.stderr.write(`workcrate: ${error.message}\n`);
  process.exitCode = error.code === 'config_invalid' ? 2 : 1;
}
