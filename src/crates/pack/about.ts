import type { Caller } from '../../identity.ts';
import { packageVersion } from '../../version.ts';
import type { PackRequest } from './pack.ts';
import type { About, PackedFile, PackedRun } from './packed.ts';
import { languageNames } from './run-entities.ts';

/** What is said of a crate: what the caller says, and what can be told without. */
export function aboutOf(
  { user }: Caller,
  request: PackRequest,
  run: PackedRun | null,
  files: readonly PackedFile[],
  published: number,
): About {
  const { title, description, license, keywords = [], authors = [] } = request;
  return {
    title: title?.trim() || usualTitle(run, files),
    description: description?.trim() || usualDescription(run, files),
    license: license ?? null,
    keywords,
    authors,
    user,
    published,
    version: packageVersion,
  };
}

function usualTitle(run: PackedRun | null, files: readonly PackedFile[]): string {
  if (run !== null) return `${languageNames[run.language].name} run ${run.id}`;
  return `${counted(files.length, 'file')} from Workcrate`;
}

function usualDescription(run: PackedRun | null, files: readonly PackedFile[]): string {
  if (run === null) return `${counted(files.length, 'file')}, packed as they were kept.`;
  const { name } = languageNames[run.language];
  const given = counted(run.inputs.length + run.missing.length, 'input');
  const day = new Date(run.startedAt).toISOString().slice(0, 10);
  return `A run of ${name} code on ${day}: ${counted(run.results.length, 'result')} from ${given}; ${run.outcome}.`;
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
