/**
 * What a command of the command line is: its help as data, and its body, which is imported when the command is run. A
 * feature declares its own, `cli/` has those of the core. `cli/help.ts` prints help, `cli/commands.ts` checks words by it.
 */
import type { Config, LoadedConfig } from '../platform/config/config.ts';
import type { SettingList, ValuesOf } from '../platform/config/setting.ts';
import type { Database } from '../ports/database/database.ts';

/** A flag that is no setting, as help shows it. The argument parser takes its form from here too. */
export interface FlagHelp {
  /**
   * `--json` takes no value, `--limit COUNT` takes one, `--yes[=GLOB]` means all without one, and `-o, --output FOLDER` has
   * a short form. In every command it has the same form.
   */
  readonly flag: string;
  readonly help: string;
  /** The default. */
  readonly usual?: string;
  /** Whether it may be given several times; the command gets a line for each. */
  readonly isList?: boolean;
}

/** What `--help` shows of one command or subcommand. The number of words that it takes is checked by `takes`. */
export interface CommandHelp {
  /** The words behind its name: `NAME` is required, `[NAME]` may be left out, and `…` allows several. */
  readonly takes?: string;
  readonly summary: string;
  readonly flags?: readonly FlagHelp[];
  /** Settings that matter to it; it takes all others too. */
  readonly settings?: readonly string[] | 'all';
  readonly examples: readonly [string, string];
  readonly docs: string;
  readonly subcommands?: Readonly<Record<string, CommandHelp>>;
  /** Whether it does something without a subcommand too. */
  readonly actsAlone?: boolean;
}

/** A command with its body. A body gets what was given, and gives the exit code. */
export interface Command<Values extends Config = Config> extends CommandHelp {
  /** The command behind which help lists it. */
  readonly after?: string;
  load(): Promise<CommandBody<Values>>;
}

/** Written as a method, so that a list can have commands with settings of their own. */
type CommandBody<Values extends Config> = {
  run(input: CommandInput<Values>): Promise<number>;
}['run'];

/** What a command is given: all settings, of which a feature knows those of the core and its own. */
export interface CommandInput<Values extends Config = Config> extends LoadedConfig<Values> {
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** The words behind its name. */
  readonly words: readonly string[];
  readonly program: CommandProgram;
}

/** What the program does for commands of features. */
export interface CommandProgram {
  /**
   * The database, beside a server that may run: each change is one transaction. Refused where there is none; standard error
   * says which one it is.
   */
  openDatabase(): Promise<Database>;
  /** Serves until it is stopped, with these settings in place of those that were given. */
  serve(settings: Readonly<Record<string, unknown>>): Promise<number>;
  /** The server that runs, or how to start one with the settings that were given, except these. */
  findServer(without: readonly string[]): ReachableServer;
}

/** Where a server is, or how it is started over stdio. */
export type ReachableServer =
  | { readonly url: string; readonly key: string | null }
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    };

/** The settings that a command or a check of a feature knows; of a feature that nobody knows, those of the core. */
export type KnownConfig<Settings extends SettingList> = string extends keyof Settings
  ? Config
  : Config & ValuesOf<Settings>;

/** What `workcrate doctor` found. */
export interface Finding {
  readonly state: 'ok' | 'note' | 'broken';
  readonly what: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** Says what works on this machine, for `workcrate doctor`. Nothing is changed by looking. */
export interface DoctorCheck<Values extends Config = Config> {
  /** It is left out where this part of the settings keeps a server from starting, which is told instead. */
  readonly unlessRefused: string;
  load(): Promise<DoctorBody<Values>>;
}

type DoctorBody<Values extends Config> = {
  check(config: Values): Promise<Finding[]>;
}['check'];

/** What a feature brings to the command line. */
export interface CommandLinePart<Settings extends SettingList> {
  readonly name: string;
  readonly settings: Settings;
  readonly commands?: Readonly<Record<string, Command<KnownConfig<Settings>>>>;
  readonly doctor?: readonly DoctorCheck<KnownConfig<Settings>>[];
}

export const storedSettings: readonly string[] = ['data', 'database'];

export const jsonFlag: FlagHelp = { flag: '--json', help: 'print JSON, for programs' };

export const asUserFlag: FlagHelp = { flag: '--user NAME', help: 'act as this user', usual: 'local' };

/** For commands that ask a running server. */
const usualServer = 'the one that uses the data folder';
export const serverFlag: FlagHelp = { flag: '--url URL', help: 'the server to ask', usual: usualServer };

export const makeKeyFlag = (whose: string): FlagHelp => ({
  flag: '--key KEY',
  help: `${whose}; WORKCRATE_KEY is safer, since other users can see the command line`,
});
