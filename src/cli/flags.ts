import type { ParseArgsConfig } from 'node:util';
import type { CommandHelp } from '../core/command.ts';
import { listSwitchFlags, toFlagOptions } from '../platform/config/config.ts';
import { allSettings } from '../server/settings.ts';
import { commands } from './commands.ts';

type FlagOption = NonNullable<ParseArgsConfig['options']>[string];

/** The flags that every command takes. */
const programFlags: Readonly<Record<string, FlagOption>> = {
  config: { type: 'string' },
  'service-env': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  'print-config': { type: 'boolean' },
};

/** Those of a command and of its subcommands, by the forms in which help shows them. */
const listCommandFlags = ({ flags = [], subcommands = {} }: CommandHelp): [string, FlagOption][] => [
  ...flags.map(({ flag, isList = false }): [string, FlagOption] => {
    const [, short, name, value] = /^(?:-(\w), )?--([a-z-]+)(.*)$/.exec(flag)!;
    const type = value === '' ? 'boolean' : 'string';
    return [name!, { type, multiple: isList, ...(short === undefined ? {} : { short }) }];
  }),
  ...Object.values(subcommands).flatMap(listCommandFlags),
];

const commandFlags = Object.values(commands).flatMap(listCommandFlags);

/** Those that mean all without a value. */
const flagsForAll = new Set(
  Object.values(commands).flatMap(({ flags = [] }) =>
    flags.flatMap(({ flag }) => /^--[a-z-]+(?=\[=)/.exec(flag) ?? []),
  ),
);

const switchFlags = listSwitchFlags(allSettings);

/**
 * Gives flags their values where the words leave them out. `--yes` alone means all, and takes no word behind it: that may
 * be the request. A setting that is true or false is true alone, and takes no word behind it but these two.
 */
export function completeFlags(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const completed: string[] = [];
  for (let at = 0; at < end; at++) {
    const [word, next] = [argv[at]!, argv[at + 1]];
    if (flagsForAll.has(word)) completed.push(`${word}=*`);
    else if (!switchFlags.has(word)) completed.push(word);
    else if (at + 1 < end && (next === 'true' || next === 'false')) completed.push(`${word}=${argv[++at]}`);
    else completed.push(`${word}=true`);
  }
  return [...completed, ...argv.slice(end)];
}

/** Every flag there is, as options for the argument parser. A setting is one in every command. */
export const listFlagOptions = (): Readonly<Record<string, FlagOption>> => ({
  ...programFlags,
  ...Object.fromEntries(commandFlags),
  ...toFlagOptions(allSettings),
});
