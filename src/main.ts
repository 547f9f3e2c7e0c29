/**
 * The program: parses the command line, loads the settings, runs the command, and turns errors into a line on stderr
 * and an exit code. What commands do is in `cli/`.
 */
import { parseArgs } from 'node:util';
import { commands, checkCommand, getHelp, runCommand } from './cli/commands.ts';
import { completeFlags, listFlagOptions } from './cli/flags.ts';
import { didYouMean, usageError } from './platform/command-line/usage-error.ts';
import { printConfig, type LoadedConfig } from './platform/config/config.ts';
import { loadConfig, allSettings } from './server/settings.ts';
import { isWorkcrateError } from './platform/errors.ts';
import { createLog } from './platform/observability/log.ts';
import { packageVersion } from './platform/version.ts';

async function main(argv: string[]): Promise<number> {
  const { words, flags } = parseArguments(argv);
  if (flags['version'] !== undefined) return printHelp(`${packageVersion}\n`);
  if (words[0] === 'help') return printHelp(getHelp(words.slice(1)));
  if (flags['help'] !== undefined) return printHelp(getHelp(words));
  const isPrinting = flags['print-config'] !== undefined;
  const command = isPrinting && words.length === 0 ? null : checkCommand(words);
  const loaded = loadConfig(flags);
  warnOfUnknown(loaded);
  if (command === null || isPrinting) return printHelp(printConfig(allSettings, loaded));
  return runCommand(command, { ...loaded, flags, words: words.slice(1) });
}

/** A misspelt variable does nothing, so there is a warning. */
function warnOfUnknown({ config, unknown }: LoadedConfig): void {
  const log = createLog(config.logLevel);
  for (const { variable, nearest } of unknown)
    log.warn('config.unknown_variable', { variable, ...(nearest === null ? {} : { did_you_mean: nearest }) });
}

function printHelp(text: string): number {
  process.stdout.write(text);
  return 0;
}

interface ParsedArguments {
  readonly words: readonly string[];
  readonly flags: Record<string, string | undefined>;
}

function parseArguments(argv: string[]): ParsedArguments {
  const { values, positionals } = parseFlags(argv);
  const flags = Object.entries(values).map(([name, value]) => [name, toFlagText(value!)]);
  return { words: positionals, flags: Object.fromEntries(flags) as Record<string, string> };
}

/** What may be given several times is one line for each. */
const toFlagText = (value: string | boolean | (string | boolean)[]): string =>
  Array.isArray(value) ? value.join('\n') : String(value);

function parseFlags(argv: string[]) {
  const options = listFlagOptions();
  try {
    return parseArgs({ args: completeFlags(argv), options, allowPositionals: true });
  } catch (error) {
    const problem = firstSentence(error instanceof Error ? error.message : String(error));
    const [, unknown] = /^Unknown option '--([^']+)'$/.exec(problem) ?? [];
    throw usageError(
      unknown === undefined ? problem : `${problem}.${didYouMean(unknown, Object.keys(options), '--')}`,
      commandIn(argv),
    );
  }
}

/** Where the flags cannot be read, the first word that is a command is the best guess. */
const commandIn = (argv: readonly string[]): string | undefined =>
  argv.find((word) => Object.hasOwn(commands, word));

/** Node goes on with advice that is not about this program. */
const firstSentence = (text: string): string => text.split(/\n|\. /, 1)[0]!.replace(/\.$/, '');

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!isWorkcrateError(error)) throw error;
  process.stderr.write(`workcrate: ${error.message}\n`);
  process.exitCode = error.code === 'config_invalid' ? 2 : 1;
}
