import type { CommandInput } from '../core/command.ts';
import type { ServerConfig } from '../server/settings.ts';
import type { ServerMode } from '../server/start.ts';

/** What a command of the core is given. */
export type ProgramInput = Omit<CommandInput<ServerConfig>, 'program'>;

/** What `serve` and `stdio` are given; nobody but a test extends the server. */
export type ServerInput = Omit<ProgramInput, 'words'> & Pick<ServerMode, 'extend'>;
