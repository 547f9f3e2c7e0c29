/**
 * Loads the settings from flags, environment variables, the config file and the defaults, and prints them. Whether
 * settings fit together is checked where they are used, mostly in `server/`.
 */
import { resolve } from 'node:path';
import { findNearest } from '../text/edit-distance.ts';
import { WorkcrateError } from '../errors.ts';
import { programName } from '../program.ts';
import { applyEnvFile } from './env-file.ts';
import { failAtLine, readConfigFile, type FileValue } from './file.ts';
import { bytes, trueOrFalse, range, type UidRange } from './kinds.ts';
import {
  toEnvironmentName,
  toFileKey,
  toFlagName,
  type Setting,
  type SettingList,
  type SettingsEnvironment,
} from './setting.ts';
import type { Config } from './settings.ts';
import { findUnknownVariables, type UnknownVariable } from './unknown.ts';

export { findUnreadEnvFile } from './env-file.ts';
export type { Config } from './settings.ts';

/** Settings and where each came from: a flag, a variable, a line of the config file, or the default. */
export interface LoadedConfig<Values extends Config = Config> {
  readonly config: Values;
  readonly origins: ReadonlyMap<string, string>;
  /** Variables that begin as ours do, but are none of ours. */
  readonly unknown: readonly UnknownVariable[];
}

type ConfigFlags = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings of the core, and of the features that are in the list besides. Flags win over the environment, that
 * over the config file, that over the defaults.
 */
export function loadSettings(
  settings: SettingList,
  flags: ConfigFlags,
  environment: SettingsEnvironment = process.env,
): LoadedConfig {
  if (flags['service-env'] !== undefined) applyEnvFile(flags['service-env'], environment);
  const path = flags['config'] ?? (environment.WORKCRATE_CONFIG || undefined);
  const file =
    path === undefined ? new Map<string, FileValue>() : readConfigFile(path, listStructuredKeys(settings));
  if (path !== undefined) refuseUnknownKeys(settings, path, file);
  const origins = new Map<string, string>();
  const entries = Object.entries(settings).map(([name, setting]) => {
    const { value, origin } = resolveSetting(name, setting, flags, environment, file, path ?? '');
    origins.set(name, origin);
    return [name, value];
  });
  const unknown = findUnknownVariables(settings, environment);
  return { config: normalizeConfig(Object.fromEntries(entries) as Config), origins, unknown };
}

/** For files of secrets that name variables. */
export const readEnvironmentVariable = (name: string): string | undefined => process.env[name];

/** For a server that a command starts: all variables but those of some settings. */
export function copyEnvironment(without: readonly string[]): Record<string, string> {
  const hidden = new Set(without.map(toEnvironmentName));
  const entries = Object.entries(process.env).filter(
    ([name, value]) => value !== undefined && !hidden.has(name),
  );
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The key with which a command asks a server: no setting, since it belongs to a person and not to the server. */
export function readOperatorKey(
  flags: ConfigFlags,
  environment: SettingsEnvironment = process.env,
): string | null {
  return flags['key'] ?? (environment.WORKCRATE_KEY || null);
}

function resolveSetting(
  name: string,
  setting: Setting<unknown>,
  flags: ConfigFlags,
  environment: SettingsEnvironment,
  file: ReadonlyMap<string, FileValue>,
  path: string,
): { value: unknown; origin: string } {
  const fromFlag = flags[toFlagName(name)];
  if (fromFlag !== undefined) return parseConfigSetting(setting, fromFlag, `--${toFlagName(name)}`);
  for (const variable of [toEnvironmentName(name), ...(setting.aliases ?? [])]) {
    const value = environment[variable];
    if (value !== undefined && value !== '') return parseConfigSetting(setting, value, variable);
  }
  for (const key of listFileKeys(name, setting)) {
    const written = file.get(key);
    if (written !== undefined)
      return parseConfigSetting(setting, written.text, `${path}, line ${written.line}: ${key}`);
  }
  return { value: setting.fallback(environment), origin: 'default' };
}

function parseConfigSetting(
  setting: Setting<unknown>,
  text: string,
  origin: string,
): { value: unknown; origin: string } {
  try {
    return { value: setting.kind.parse(text.trim()), origin };
  } catch (cause) {
    const given = setting.secret ? 'the value given' : JSON.stringify(hidePassword(text));
    throw new WorkcrateError('config_invalid', `${origin} takes ${setting.kind.takes}, not ${given}`, {
      cause,
    });
  }
}

/** Hides what comes before the host of a URL. A password that is not percent-encoded may contain `/` and `@`. */
export const hidePassword = (text: string): string => text.replace(/\/\/.*@/s, '//…@');

const listFileKeys = (name: string, { fileAlias }: Setting<unknown>): string[] =>
  fileAlias === undefined ? [toFileKey(name)] : [toFileKey(name), fileAlias];

const listStructuredKeys = (settings: SettingList): ReadonlySet<string> =>
  new Set(
    Object.entries(settings)
      .filter(([, { kind }]) => kind.isStructured)
      .map(([name]) => toFileKey(name)),
  );

function refuseUnknownKeys(settings: SettingList, path: string, file: ReadonlyMap<string, FileValue>): void {
  const keys = Object.entries(settings).map(([name, setting]) => listFileKeys(name, setting));
  const known = new Set(keys.flat());
  for (const [key, { line }] of file) if (!known.has(key)) failUnknownKey(path, line, key, known);
  for (const names of keys) {
    const [first, second] = names.filter((key) => file.has(key));
    if (second !== undefined)
      failAtLine(path, file.get(second)!.line, `${second} and ${first} are the same setting`);
  }
}

function failUnknownKey(path: string, line: number, key: string, known: ReadonlySet<string>): never {
  const nearest = findNearest(key, known);
  const question = nearest === null ? '' : ` Did you mean ${nearest}?`;
  failAtLine(
    path,
    line,
    `unknown key ${JSON.stringify(key)}.${question} ${programName} --print-config lists all keys`,
  );
}

/** Relative folders are meant from where the program was started, and `localhost` is one address of it. */
function normalizeConfig(config: Config): Config {
  return {
    ...mapFolders(config, (path) => resolve(path)),
    host: config.host === 'localhost' ? '127.0.0.1' : config.host,
  };
}

function mapFolders(config: Config, change: (path: string) => string): Config {
  const { data, filesDir, placesDir, toolsPath, skillsPath, shareRoots } = config;
  const changeNamed = (path: string | null): string | null => (path === null ? null : change(path));
  return {
    ...config,
    data: change(data),
    filesDir: changeNamed(filesDir),
    placesDir: changeNamed(placesDir),
    toolsPath: changeNamed(toolsPath),
    skillsPath: changeNamed(skillsPath),
    shareRoots: shareRoots.map(change),
  };
}

/** Spaces around a value are no part of it; a folder whose name ends with one needs a slash behind it. */
const keepLastSpace = (path: string): string => path.replace(/\s$/, '$&/');

/** The config as a config file, each line with its origin. For a secret there is only a comment that it is set. */
export function printConfig(settings: SettingList, { config, origins }: LoadedConfig): string {
  const values = new Map<string, unknown>(Object.entries(mapFolders(config, keepLastSpace)));
  return Object.entries(settings)
    .map(([name, setting]) => `${formatSetting(name, setting, values.get(name))}  # ${origins.get(name)}\n`)
    .join('');
}

function formatSetting(name: string, { kind, secret }: Setting<unknown>, value: unknown): string {
  if (secret && value !== null) return `# ${toFileKey(name)}: (set, not shown)`;
  return `${toFileKey(name)}: ${JSON.stringify(kind === range ? formatRange(value as UidRange) : (value ?? ''))}`;
}

/** A line of help for each setting, and one with its variables. */
export function formatSettingsHelp(
  settings: SettingList,
  names: readonly string[] = Object.keys(settings),
): string {
  const lines = names.map((name) => {
    const setting = settings[name]!;
    const names = [`--${toFlagName(name)}`.padEnd(22), setting.help].join(' ');
    const usual = formatDefault(setting);
    return `  ${names}${usual === '' ? '' : ` [${usual}]`}\n${' '.repeat(25)}${listVariables(name, setting)}\n`;
  });
  return lines.join('');
}

/** The default as it would be written, with `~` for the home folder; empty where there is none. */
export function formatDefault(setting: Setting<unknown>): string {
  const value = setting.fallback({ HOME: '~' });
  if (value === null || value === false) return '';
  if (setting.kind === bytes) return formatSizeSetting(Number(value));
  if (setting.kind === range) return formatRange(value as UidRange);
  return Array.isArray(value) ? value.join(',') : String(value as string | number);
}

const formatRange = ({ from, to }: UidRange): string => `${from}-${to}`;

function formatSizeSetting(size: number): string {
  return size < 1024 ** 3 ? `${size / 1024 ** 2}MB` : `${size / 1024 ** 3}GB`;
}

function listVariables(name: string, setting: Setting<unknown>): string {
  return [toEnvironmentName(name), ...(setting.aliases ?? [])].join(', ');
}

/** The settings as options for the argument parser. */
export const toFlagOptions = (settings: SettingList): Record<string, { type: 'string' }> =>
  Object.fromEntries(Object.keys(settings).map((name) => [toFlagName(name), { type: 'string' }]));

/** The flags of settings that are true or false. */
export const listSwitchFlags = (settings: SettingList): ReadonlySet<string> =>
  new Set(
    Object.entries(settings)
      .filter(([, { kind }]) => kind === trueOrFalse)
      .map(([name]) => `--${toFlagName(name)}`),
  );
