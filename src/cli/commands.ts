/**
 * Finds the command that the words on the command line name, checks how many words follow, and loads its file. Flags
 * are parsed by `cli.ts`, what a command does is in its own file.
 */
import type { CommandInput } from './command.ts';
import { commandHelp, type CommandHelp, type CommandName } from './command-help.ts';
import { describeCommand, describeProgram, formatUsageLine } from './help.ts';
import { didYouMean, usageError } from './usage-error.ts';

/** A command gets the words behind its name, and gives the exit code. */
type RunCommand = (input: CommandInput & { readonly words: readonly string[] }) => Promise<number>;

/** Each is loaded when it is asked for: loading the server takes most of a start, and `check` needs none. */
export const loadCommand: Readonly<Record<CommandName, () => Promise<RunCommand>>> = {
  serve: async () => (await import('./serve.ts')).runServe,
  stdio: async () => (await import('./stdio.ts')).runStdio,
  check: async () => (await import('./check.ts')).runCheck,
  doctor: async () => (await import('./doctor.ts')).runDoctor,
  user: async () => (await import('./user.ts')).runUser,
  usage: async () => (await import('./usage.ts')).runUsage,
  status: async () => (await import('./status.ts')).runStatus,
  call: async () => (await import('./call.ts')).runCall,
  ask: async () => (await import('./ask.ts')).runAsk,
  gateway: async () => (await import('./gateway.ts')).runGateway,
  audit: async () => (await import('./audit.ts')).runAudit,
  build: async () => (await import('./build.ts')).runBuild,
  index: async () => (await import('./crates.ts')).runIndex,
  crates: async () => (await import('./crates.ts')).runCrates,
  replay: async () => (await import('./replay.ts')).runReplay,
  validate: async () => (await import('./validate.ts')).runValidate,
  guard: async () => (await import('./guard.ts')).runGuard,
};

const commandNames = Object.keys(commandHelp);

/** The command that the words name, once there are as many words behind it as it takes. */
export function demandCommand(words: readonly string[]): CommandName {
  const { name, help, rest } = findCommand(words);
  if (help.subcommands !== undefined && help.actsAlone !== true)
    throw usageError(`${name} needs a subcommand: ${Object.keys(help.subcommands).join(', ')}`, name);
  const { least, most, missing } = countWords(help.takes ?? '', rest.length);
  const usage = `Usage: ${formatUsageLine(name, help)}`;
  if (rest.length < least) throw usageError(`${missing} is missing. ${usage}`, name);
  if (rest.length > most)
    throw usageError(`${JSON.stringify(rest[most])} is one word too many. ${usage}`, name);
  return words[0] as CommandName;
}

/** The help of the command that the words name; that of the program where they name none. */
export function getHelp(words: readonly string[]): string {
  if (words.length === 0 || words[0] === 'help') return describeProgram();
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
  if (!Object.hasOwn(commandHelp, command))
    throw usageError(
      `There is no command ${JSON.stringify(command)}.${didYouMean(command, [...commandNames, 'help'])} ` +
        `The commands are ${commandNames.join(', ')}`,
    );
  const help: CommandHelp = commandHelp[command as CommandName];
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
function countWords(takes: string, given: number): { least: number; most: number; missing: string } {
  const words = takes.split(' ').filter((word) => word !== '');
  const required = words.filter((word) => !word.startsWith('['));
  const most = takes.includes('…') ? Infinity : words.length;
  return { least: required.length, most, missing: required[given] ?? '' };
}
