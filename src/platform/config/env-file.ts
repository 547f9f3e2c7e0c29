/**
 * Reads a file of environment variables, as a unit of systemd names it by `EnvironmentFile=`: a command that is run by
 * hand then has the settings of the service. Variables that are set already win.
 */
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { getErrno, WorkcrateError } from '../errors.ts';

/** Where the unit in `packaging/` has the settings of the service. */
const serviceEnvFile = '/etc/workcrate/workcrate.env';

export function applyEnvFile(path: string, environment: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(parseEnv(readEnvText(path)))) environment[name] ??= value;
}

/** A wrong path must not look like a file without settings. */
function readEnvText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = getErrno(error);
    if (why === null) throw error;
    const remedy = why === 'EACCES' ? ' Run the command as the user of the service, or as root.' : '';
    throw new WorkcrateError('config_invalid', `--service-env ${path} cannot be read (${why}).${remedy}`);
  }
}

/** The settings of a service on this machine that a command did not read; null where there are none. */
export const findUnreadEnvFile = (given: string | undefined, usual: string = serviceEnvFile): string | null =>
  given === undefined && existsSync(usual) ? usual : null;
