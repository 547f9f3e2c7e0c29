/**
 * Lists the commands of the core and of every feature, finds the one that the words on the command line name, and checks
 * how many words follow. Flags are parsed by `main.ts`, what a command does is in its own file.
 */
import type { Command, CommandHelp, CommandProgram } from '../core/command.ts';
import { joinByPlace } from '../platform/config/setting.ts';
import { didYouMean, usageError } from '../platform/command-line/usage-error.ts';
import { features } from '../server/features.ts';
import type { ServerConfig } from '../server/settings.ts';
import type { ProgramInput } from './command.ts';
import { coreCommands } from './core-commands.ts';
import { findOrStartServer } from './find-server.ts';
import { describeCommand, describeProgram, formatUsageLine } from './help.ts';

/** Every command, in the order in which help lists them. A command that is not here cannot be run. */
export const commands = joinByPlace<Command<ServerConfig>>([
  coreCommands,
  ...features.flatMap((feature) => (feature.commands === undefined ? [] : [feature.commands])),
]);

/** Imports the command that the first word names, and runs it with the others. */
export async function runCommand(name: string, line: ProgramInput): Promise<number> {
  const run = await commands[name]!.load();
  return run({ ...line, program: createProgram(line) });
}

/** Each part is imported where a command asks for it. */
const createProgram = (line: ProgramInput): CommandProgram => ({
  findServer: (without) => findOrStartServer(line, without),
  openDatabase: async () => (await import('./open-unlocked.ts')).openUnlocked(line, false),
  serve: async (settings) =>
    (await import('./serve.ts')).runServe({ ...line, config: { ...line.config, ...settings } }),
});

const commandNames = Object.keys(commands);

/** The command that the words name, once there are as many words behind it as it takes. */
export function checkCommand(words: readonly string[]): string {
  const { name, help, rest } = findCommand(words);
  if (help.subcommands !== undefined && help.actsAlone !== true)
    throw usageError(`${name} needs a subcommand: ${Object.keys(help.subcommands).join(', ')}`, name);
  const { least, most, missing } = countCommandWords(help.takes ?? '', rest.length);
  const usage = `Usage: ${formatUsageLine(name, help)}`;
  if (rest.length < least) throw usageError(`${missing} is missing. ${usage}`, name);
  if (rest.length > most)
    throw usageError(`${JSON.stringify(rest[most])} is one word too many. ${usage}`, name);
  return words[0]!;
}

/** The help of the command that the words name; that of the program where they name none. */
export function getHelp(words: readonly string[]): string {
  if (words.length === 0 || words[0] === 'help') return describeProgram(commands);
  const { name, help } = findCommand(words);
  return describeCommand(name, help);
}

interface FoundCommand {
  readonly name: string;
  readonly help: CommandHelp;
  /** The words behind its name. */
  readonly rest: readonly string[];
}

function findCommand([command, ...words]: readonly string[]): FoundCommand {
  if (command === undefined) throw usageError(`Say what to do: ${commandNames.join(', ')}`);
  if (!Object.hasOwn(commands, command))
    throw usageError(
      `There is no command ${JSON.stringify(command)}.${didYouMean(command, [...commandNames, 'help'])} ` +
        `The commands are ${commandNames.join(', ')}`,
    );
  const help: CommandHelp = commands[command]!;
  const [subcommand, ...rest] = words;
  if (help.subcommands === undefined || subcommand === undefined) return { name: command, help, rest: words };
  if (Object.hasOwn(help.subcommands, subcommand))
    return { name: `${command} ${subcommand}`, help: help.subcommands[subcommand]!, rest };
  const known = Object.keys(help.subcommands);
  // A word that is nearly a subcommand was meant to be it.
  if (help.actsAlone === true && didYouMean(subcommand, known) === '')
    return { name: command, help, rest: words };
  throw usageError(
    `${command} has no subcommand ${JSON.stringify(subcommand)}.${didYouMean(subcommand, known)} ` +
      `It has ${known.join(', ')}`,
    command,
  );
}

/** How many words `NAME [NAME] [NAME…]` means, and which one is missing after so many. */
function countCommandWords(takes: string, given: number): { least: number; most: number; missing: string } {
  const words = takes.split(' ').filter((word) => word !== '');
  const required = words.filter((word) => !word.startsWith('['));
  const most = takes.includes('…') ? Infinity : words.length;
  return { least: required.length, most, missing: required[given] ?? '' };
}
