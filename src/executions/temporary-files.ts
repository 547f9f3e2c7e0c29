/**
 * What a run left where nothing is kept, as records and answers say it: files in /tmp and in its home, and a working folder
 * there, which is not the folder of that name on anybody's machine. Who looks is the sandbox.
 */
import { z } from 'zod';
import type { TemporaryFiles } from '../sandbox/sandbox.ts';
import { formatBytes, quoteName } from '../text.ts';
import type { Execution } from './fields.ts';

export const temporaryFilesShape = z
  .object({
    files: z.array(z.object({ path: z.string(), size: z.number() })),
    more: z.number().int().describe('Files beside these'),
    complete: z.boolean().describe('False where there may be more still'),
  })
  .nullable()
  .describe('Files that it left in /tmp or ~, which are gone with it; null where nobody could look');

export function showTemporaryFiles(left: TemporaryFiles | null): z.input<typeof temporaryFilesShape> {
  if (left === null) return null;
  return { ...left, files: left.files.map(({ path, size }) => ({ path, size })) };
}

/** Whether there is anything to tell: most runs leave nothing there. */
export const hasTemporaryFiles = (left: TemporaryFiles | null): left is TemporaryFiles =>
  left !== null && (left.files.length > 0 || left.more > 0 || !left.complete);

type LeftBehind = Pick<Execution, 'temporaryFiles' | 'workingDir' | 'sessionId'>;

/** Both in a line each, with the remedy. */
export function toTemporaryLines({ temporaryFiles, workingDir, sessionId }: LeftBehind): string[] {
  const end = sessionId === null ? 'the run' : 'the session';
  const isTemporary = /^\/(?:tmp|home\/user)\//.test(workingDir);
  return [
    ...(isTemporary
      ? [
          `${quoteName(workingDir)} was made empty for ${end} and is gone with it. It is a folder of the sandbox, not the one of that name on your machine: for files of yours, leave working_dir out and name them in client_files or files.`,
        ]
      : []),
    ...(hasTemporaryFiles(temporaryFiles) ? [nameTemporaryFiles(temporaryFiles, end)] : []),
  ];
}

function nameTemporaryFiles({ files, more, complete }: TemporaryFiles, end: string): string {
  const names = files.map(({ path, size }) => `${quoteName(path)} (${formatBytes(size)})`).join(', ');
  const others = [
    ...(more === 0 ? [] : [`${more} more`]),
    ...(complete ? [] : ['perhaps more: not all could be looked at']),
  ].join(', ');
  const all = [names, others].filter((part) => part !== '').join(' and ');
  return `Not kept, since /tmp and ~ are gone with ${end}: ${all}. Write to /artifacts what is to stay.`;
}
