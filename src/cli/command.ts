import type { LoadedConfig } from '../platform/config/config.ts';
import type { ServerConfig } from '../server/settings.ts';
import type { ServerMode } from '../server/start.ts';

/** What a command is given; it returns the exit code. */
export interface CommandInput extends LoadedConfig<ServerConfig> {
  readonly flags: Readonly<Record<string, string | undefined>>;
}

/** What `serve` and `stdio` are given; nobody but a test extends the server. */
export type ServerInput = CommandInput & Pick<ServerMode, 'extend'>;

export type Command = (input: CommandInput) => Promise<number>;
