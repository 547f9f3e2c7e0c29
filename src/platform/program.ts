import { dirname } from 'node:path';

/**
 * How messages name the program. `npx workcrate` works in a checkout after `npm ci`, in a folder that has the package
 * installed, and where it is installed for the whole machine; `workcrate` alone works only in the last.
 */
export const programName = 'npx workcrate';

/** The folder of all sources of this server, or of their build. */
export const sourceFolder = dirname(import.meta.dirname);
