import type { LoadedConfig } from '../config.ts';

/** What a command is given; it returns the exit code. */
export interface CommandInput extends LoadedConfig {
  readonly flags: Readonly<Record<string, string | undefined>>;
}

export type Command = (input: CommandInput) => Promise<number>;
