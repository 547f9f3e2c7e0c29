/**
 * What one setting is, how to define one, and how lists of them become one. The settings of the core are in `settings.ts`,
 * those of a feature in its folder; what values look like as text is in `kinds.ts`.
 */
import type { SettingKind } from './kinds.ts';

/** One setting. Its key `fileTtl` is `--file-ttl`, `WORKCRATE_FILE_TTL` and `file_ttl` in the config file. */
export interface Setting<T> {
  readonly kind: SettingKind<T>;
  readonly fallback: (environment: SettingsEnvironment) => T;
  readonly help: string;
  /** Further environment names that are accepted, after the WORKCRATE_ one. */
  readonly aliases?: readonly string[];
  /** A further key in the config file, with a dot where it may be a key below a key. */
  readonly fileAlias?: string;
  /** Never printed. */
  readonly secret?: boolean;
  /** The setting behind which it stands in help and docs; without it, behind the one before it in its list. */
  readonly after?: string;
}

/** Settings by their keys. */
export type SettingList = Readonly<Record<string, Setting<unknown>>>;

/** What settings came to. */
export type ValuesOf<Settings extends SettingList> = {
  readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never;
};

export type SettingsEnvironment = Readonly<Record<string, string | undefined>>;

/** A setting; `fallback` is its default, or a function of the environment that gives it. */
export function defineSetting<T>(
  kind: SettingKind<T>,
  fallback: T | ((environment: SettingsEnvironment) => T),
  help: string,
  more: Pick<Setting<T>, 'aliases' | 'fileAlias' | 'secret' | 'after'> = {},
): Setting<T> {
  const give = typeof fallback === 'function' ? (fallback as (e: SettingsEnvironment) => T) : () => fallback;
  return { kind, fallback: give, help, ...more };
}

/** In seconds. */
export const day = 86_400;
/** In bytes. */
export const megabyte = 1024 ** 2;
export const gigabyte = 1024 ** 3;

const splitCamelCase = (name: string): string[] => name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());

export const toFlagName = (name: string): string => splitCamelCase(name).join('-');
export const toFileKey = (name: string): string => splitCamelCase(name).join('_');
export const toEnvironmentName = (name: string): string =>
  `WORKCRATE_${splitCamelCase(name).join('_').toUpperCase()}`;

/**
 * One list of several, of settings or of commands. What says behind which other it is listed goes there, with those that
 * follow it in its list. Two of one name are a mistake of ours.
 */
export function joinByPlace<T extends { readonly after?: string }>([first = {}, ...others]: readonly Readonly<
  Record<string, T>
>[]): Readonly<Record<string, T>> {
  const runs = others.flatMap(splitByPlace);
  const names = new Set([first, ...others].flatMap((list) => Object.keys(list)));
  const placed = new Map<string, T>();
  const place = (entries: readonly (readonly [string, T])[]): void => {
    for (const [name, one] of entries) {
      if (placed.has(name)) throw new Error(`Two are called ${name}.`);
      placed.set(name, one);
      for (const run of runs) if (run[0]![1].after === name) place(run);
    }
  };
  place(Object.entries(first));
  // What names none, or one that is not there, goes to the end.
  for (const run of runs) if (!names.has(run[0]![1].after ?? '')) place(run);
  return Object.fromEntries(placed);
}

/** Each part begins with one that says where it stands. */
function splitByPlace<T extends { readonly after?: string }>(
  list: Readonly<Record<string, T>>,
): [string, T][][] {
  const runs: [string, T][][] = [];
  for (const entry of Object.entries(list)) {
    const last = runs.at(-1);
    if (last === undefined || entry[1].after !== undefined) runs.push([entry]);
    else last.push(entry);
  }
  return runs;
}
