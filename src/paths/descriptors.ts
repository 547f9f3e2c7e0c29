import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import type { Footing, Held } from './footing.ts';
import { createFlags, readFlags } from './flags.ts';

/** Holds a thing without opening it: no permission to read is needed, and a device does not notice. */
export const O_PATH = 0o10000000;

/**
 * Stands on descriptors. Whatever is renamed or linked meanwhile, `/proc/self/fd/N` is the thing that was
 * judged, so no exchange of a folder for a link can lead outside.
 */
export const byDescriptor: Footing = {
  root: (directory) => hold(directory, O_PATH | constants.O_DIRECTORY),
  reach: (folder, name) =>
    hold(typeof name === 'string' ? folder.at(name) : folder.atBytes(name), O_PATH | constants.O_NOFOLLOW),
};

function hold(path: string | Buffer, flags: number): Held {
  const fd = openSync(path, flags);
  return {
    stats: statsOf(fd),
    at: (name) => `/proc/self/fd/${fd}/${name}`,
    atBytes: (name) => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]),
    open: () => openSync(`/proc/self/fd/${fd}`, readFlags),
    create: (name) => openSync(`/proc/self/fd/${fd}/${name}`, createFlags),
    [Symbol.dispose]: () => closeSync(fd),
  };
}

function statsOf(fd: number): Stats {
  try {
    return fstatSync(fd);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
