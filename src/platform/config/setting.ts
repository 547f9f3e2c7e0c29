/**
 * What one setting is, and how to define one. The list of all settings is in `settings.ts`, what values look like as
 * text is in `kinds.ts`.
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
}

export type SettingsEnvironment = Readonly<Record<string, string | undefined>>;

/** A setting; `fallback` is its default, or a function of the environment that gives it. */
export function defineSetting<T>(
  kind: SettingKind<T>,
  fallback: T | ((environment: SettingsEnvironment) => T),
  help: string,
  more: { aliases?: readonly string[]; fileAlias?: string; secret?: boolean } = {},
): Setting<T> {
  const give = typeof fallback === 'function' ? (fallback as (e: SettingsEnvironment) => T) : () => fallback;
  return { kind, fallback: give, help, ...more };
}

/** In seconds. */
export const day = 86_400;
/** In bytes. */
export const megabyte = 1024 ** 2;
export const gigabyte = 1024 ** 3;
