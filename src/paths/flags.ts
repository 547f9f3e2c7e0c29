import { constants } from 'node:fs';

/** O_NONBLOCK: a FIFO without a writer, or a file under somebody's lease, must not stop the server. */
export const readFlags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** O_EXCL also means that a link in that place is not followed. */
export const createFlags =
  constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_NONBLOCK;
