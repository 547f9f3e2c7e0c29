/** What the picker and the tool that takes its pieces agree on. */

/** The largest file that is sent through a host; for larger ones there is the page of the upload. */
export const maxSentBytes = 20 * 1024 ** 2;

/** A multiple of three, so that the base64 of a piece has no padding; a message of a client may have 4 MB. */
export const pieceBytes = 3 * 256 * 1024;
