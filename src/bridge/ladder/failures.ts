import { WorkcrateError } from '../../errors.ts';

/** The failures of asking a client (E6), each with what can be done about it. */

export const notThere = (path: string): WorkcrateError =>
  new WorkcrateError(
    'path_not_found',
    `The client says that there is no ${shown(path)}. Look with list_client_directory which there are.`,
  );

export const noFile = (path: string): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    `${shown(path)} is a folder, or no file to read. Name a file; list_client_directory shows which there are.`,
  );

export const noFolder = (path: string): WorkcrateError =>
  new WorkcrateError('invalid_input', `${shown(path)} is no folder. Have it by read_client_file.`);

export const mayNot = (path: string, why: string): WorkcrateError =>
  new WorkcrateError(
    'client_refused',
    `${shown(path)} was not given: ${why}. Ask the person, have it sent with via: "upload", or paste what is needed with guide_cache_file.`,
  );

export const tooLate = (path: string, timeoutMs: number): WorkcrateError =>
  new WorkcrateError(
    'client_timeout',
    `${shown(path)} did not come within ${Math.ceil(timeoutMs / 1000)} seconds. ` +
      'Call again, or with via: "upload", which does not wait for a person.',
  );

export const cannot = (what: string, instead: string): WorkcrateError =>
  new WorkcrateError(
    'client_unsupported',
    `${what} What can be done instead: ${instead} Or: paste the text with guide_cache_file.`,
  );

export const otherQuestion = (): WorkcrateError =>
  new WorkcrateError(
    'invalid_input',
    'This answers another question than the one asked, or one that was answered already. Call again without it.',
  );

export const tooLargeFor = (rung: string, path: string, most: number): WorkcrateError =>
  new WorkcrateError(
    'too_large',
    `${shown(path)} is larger than the ${most} bytes that can come by ${rung}. Call again with via: "upload".`,
    { details: { limit: most } },
  );

/** Names of strangers are shown without what could pass for other text. */
const shown = (path: string): string => JSON.stringify(path.slice(0, 200));
