import { formatSettingsHelp } from '../platform/config/config.ts';
import { allSettings } from '../server/settings.ts';
import { programName } from '../platform/program.ts';
import { packageVersion } from '../platform/version.ts';
import type { CommandHelp, FlagHelp } from '../core/command.ts';

/** What `npx workcrate --help` shows: the commands. The settings are in the help of `serve`. */
export function describeProgram(commands: Readonly<Record<string, CommandHelp>>): string {
  return `workcrate ${packageVersion}: a self-hosted MCP server. Agents run code in a sandbox, and files come and go by link.

Usage: ${programName} COMMAND [OPTIONS]

Commands
${listSummaries(commands)}
Options
${listFlags([
  { flag: '-h, --help', help: 'show this text; after a command, its own help' },
  { flag: '-v, --version', help: 'show the version' },
  configFlag,
  envFileFlag,
  { flag: '--print-config', help: 'show every setting, its value and where it came from' },
])}
Examples
  ${programName} serve
  ${programName} crates search --help

All settings: ${programName} serve --help
Read more: README.md and docs/
`;
}

/** The help of one command or subcommand. */
export function describeCommand(name: string, help: CommandHelp): string {
  const { summary, flags = [], settings = [], examples, docs, subcommands } = help;
  const own = flags.length === 0 ? '' : `\nOptions\n${listFlags(flags)}`;
  const below = subcommands === undefined ? '' : `\nSubcommands\n${listSummaries(subcommands)}`;
  const more =
    settings === 'all'
      ? `\nSettings, as options; each can also be an environment variable, or a key of the config file such as file_ttl: 3600\n`
      : '\nSettings, as options or environment variables\n';
  return `Usage: ${formatUsageLine(name, help)}

${summary}
${below}${own}${more}${listFlags([configFlag, envFileFlag])}${formatSettingsHelp(allSettings, settings === 'all' ? undefined : settings)}
Examples
${examples.map((example) => `  ${programName} ${example}\n`).join('')}
${subcommands === undefined ? '' : `Help on a subcommand: ${programName} ${name} SUBCOMMAND --help\n`}${settings === 'all' ? '' : `All settings: ${programName} serve --help\n`}Read more: ${docs}
`;
}

/** How a command is called, such as `npx workcrate crates show CRATE_ID [OPTIONS]`. */
export const formatUsageLine = (name: string, { takes }: CommandHelp): string =>
  [programName, name, ...(takes === undefined ? [] : [takes]), '[OPTIONS]'].join(' ');

const configFlag: FlagHelp = {
  flag: '--config FILE',
  help: 'read settings from a YAML or JSON file (WORKCRATE_CONFIG)',
};

const envFileFlag: FlagHelp = {
  // Node takes --env-file for itself, wherever it is on the command line.
  flag: '--service-env FILE',
  help: 'read environment variables from a file, as a service has them (EnvironmentFile)',
};

const listSummaries = (commands: Readonly<Record<string, CommandHelp>>): string =>
  Object.entries(commands)
    .map(([name, { summary }]) => `  ${name.padEnd(9)} ${summary}\n`)
    .join('');

const listFlags = (flags: readonly FlagHelp[]): string =>
  flags
    .map(
      ({ flag, help, usual }) => `  ${flag.padEnd(22)} ${help}${usual === undefined ? '' : ` [${usual}]`}\n`,
    )
    .join('');
