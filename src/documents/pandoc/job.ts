import { WorkcrateError } from '../../errors.ts';
import type { PandocJob } from './pandoc.ts';

/** Names under which Pandoc itself keeps something beside the files of a job. */
const taken = new Set(['stdin', 'stdout', 'stderr', 'warnings']);

const mostName = 100;

/** Names are ours: they begin with a letter or digit and hold no slash. */
export function demandNames({ files = {} }: PandocJob): void {
  for (const name of Object.keys(files))
    if (!/^[a-z0-9][\w.-]*$/i.test(name) || name.length > mostName || taken.has(name))
      throw new WorkcrateError('internal', `${JSON.stringify(name)} is no name for a file of Pandoc's.`);
}

export const filesOf = ({ files = {} }: PandocJob): [name: string, bytes: Uint8Array][] =>
  Object.entries(files).map(([name, content]) => [name, bytesOf(content)]);

export const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content;

/** Where the output is written. No file of a job has a name like this. */
export const outputFile = '.output';
