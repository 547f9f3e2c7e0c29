/**
 * Takes the port and the data folder of a server, before anything else is opened: a server that cannot have them is
 * started once and not twice. The port is used by `listen.ts`.
 */
import type { ServerConfig as Config } from './settings.ts';
import { lockFolder } from '../platform/data-folder/data-folder.ts';
import { isWorkcrateError } from '../platform/errors.ts';
import { reservePort, reservePortOrAny, type ReservedPort } from '../surfaces/http/port.ts';

/** What a server has for itself alone. */
export interface ServerPlace extends AsyncDisposable {
  readonly port: ReservedPort;
  /** The data folder, locked. */
  readonly data: string;
}

export type TakePlace = (config: Config) => Promise<ServerPlace>;

/** Takes the port and the folder that the settings name, or fails. */
export const takePlace: TakePlace = async ({ host, port, data }) =>
  lockPlace(await reservePort(host, port), data, 1);

export interface FixedPlace {
  readonly data: boolean;
  readonly port: boolean;
}

const maxStdioFolders = 8;

/**
 * Takes a place where there may be others: clients start a server for each window, with the same command line. So a
 * data folder or a port that another one has is no failure, unless it was asked for by name: the next folder, a free
 * port will do (decision 009).
 */
export const createPlaceBesideOthers =
  (fixed: FixedPlace): TakePlace =>
  async ({ host, port, data }) => {
    const reserve = fixed.port ? reservePort : reservePortOrAny;
    return lockPlace(await reserve(host, port), data, fixed.data ? 1 : maxStdioFolders);
  };

/** Locks the folder, or one of those that are numbered after it. */
async function lockPlace(port: ReservedPort, folder: string, mostFolders: number): Promise<ServerPlace> {
  await using taken = new AsyncDisposableStack();
  taken.use(port);
  for (let count = 1; ; count++) {
    const data = count === 1 ? folder : `${folder}-${count}`;
    try {
      taken.use(lockFolder(data));
    } catch (error) {
      if (count === mostFolders || !isWorkcrateError(error, 'data_in_use')) throw error;
      continue;
    }
    const all = taken.move();
    return { port, data, [Symbol.asyncDispose]: () => all.disposeAsync() };
  }
}
