/**
 * The errors of asking a client (E6), each with what to do about it, and the warning about allowed paths that do not
 * exist. It decides nothing.
 */
import { WorkcrateError } from '../../../platform/errors.ts';
import type { ToolContext } from '../../../core/offer/tool.ts';
import type { Log } from '../../../platform/observability/log.ts';
import { formatBytes } from '../../../platform/text/text.ts';
import { createPathPolicy, type AllowedPaths } from '../policy/policy.ts';
import type { ClientInstructions } from './file-request.ts';

/** The failures of asking a client (E6), each with what can be done about it. */

export const clientPathNotFoundError = (path: string): WorkcrateError =>
  new WorkcrateError(
    'path_not_found',
    `The client says that there is no ${quoteRequestedPath(path)} in the project. list_client_directory shows what there is.`,
  );

const patternSign = /[*?[{]/;

/** Where the server looked by itself, which may be another machine than the client means. */
export const localPathNotFoundError = (path: string, root: string): WorkcrateError =>
  new WorkcrateError(
    'path_not_found',
    `There is no ${quoteRequestedPath(path)} in the project's folder ${quoteRequestedPath(root)}. ${patternSign.test(path) ? 'A path is the literal name of one file; list_client_directory takes a pattern.' : 'list_client_directory shows what there is.'} If your files are on another machine, call again with via: "upload".`,
  );

export const notAFileError = (path: string): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `${quoteRequestedPath(path)} is a folder or another thing that is not a file. Name a file; list_client_directory shows them.`,
  );

export const notAFolderError = (path: string): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `${quoteRequestedPath(path)} is not a folder. Read it with read_client_file.`,
  );

export const clientRefusedError = (path: string, why: string): WorkcrateError =>
  new WorkcrateError('client_refused', `${quoteRequestedPath(path)} was not sent: ${why}.`);

/** Some clients decline by themselves, and do not tell that from a person who does. */
export const declinedReason = 'the client declined, and did not say whether anyone was asked';

export const clientTimeoutError = (path: string, timeoutMs: number): WorkcrateError =>
  new WorkcrateError(
    'client_timeout',
    `${quoteRequestedPath(path)} did not arrive within ${Math.ceil(timeoutMs / 1000)} seconds. ` +
      'Call again without via, which does not wait for a person.',
  );

/** What can be done where the client was asked in vain, or cannot be: all of it in one answer. */
export const describeOtherWays = ({ command, pageUrl }: ClientInstructions): string =>
  `run this in the project's folder, then call again without via:\n${command}\nWithout a shell: give the user this page to send it, ${pageUrl}\nOr paste the text with guide_cache_file.`;

/** MCP has no request by which a server reads a resource of its client: what is attached has to be handed on. */
const orAttach =
  'Where a file cannot be read, a person can attach it to the conversation as a resource first.';

export const clientUnsupportedError = (what: string, instead: string): WorkcrateError =>
  new WorkcrateError('client_unsupported', `${what} What can be done instead: ${instead} ${orAttach}`);

export const wrongAnswerError = (): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    'This answers a different question, or one that was already answered. Call again without it.',
  );

export const tooLargeForMethodError = (rung: string, path: string, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${quoteRequestedPath(path)} is larger than the ${formatBytes(most)} that ${rung} can send. Call again with via: "upload".`,
    { details: { limit: most } },
  );

/** Names of strangers are shown without what could pass for other text. */
const quoteRequestedPath = (path: string): string => JSON.stringify(path.slice(0, 200));

const maxNamedPaths = 20;

/** Warns of allowed paths that are in none of some folders of this machine, once for each folder. */
export function createMissingWarning(
  pathsIn: (root: string) => AllowedPaths,
  log: Log,
): (folders: readonly string[]) => void {
  const warned = new Set<string>();
  const missingIn = (root: string) => createPathPolicy({ root, ...pathsIn(root) }).missingAllowed(root);
  return (folders) => {
    if (folders.every((folder) => warned.has(folder))) return;
    for (const folder of folders) warned.add(folder);
    const [first = [], ...others] = folders.map(missingIn);
    const missing = first.filter((path) => others.every((one) => one.includes(path)));
    if (missing.length === 0) return;
    log.warn('bridge.allowed_missing', {
      root: folders.join(', '),
      missing: missing.slice(0, maxNamedPaths),
    });
  };
}

/**
 * A project, seen from where: what a client on this machine gave is not for one elsewhere that names the same folder,
 * which is only what it says.
 */
export const toProjectKey = (
  root: string | null,
  { sharesMachine }: Pick<ToolContext, 'sharesMachine'>,
): string | null => (sharesMachine ? `here\0${root ?? ''}` : root);
