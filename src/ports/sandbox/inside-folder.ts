import { join } from 'node:path';

/**
 * The files that every backend shows inside its sandbox: the fork server, the driver of Node and a few files of /etc.
 * They are published beside what is built. This file knows nothing of how a backend mounts them.
 */
export const insideFolder = join(import.meta.dirname, 'bubblewrap/inside');
