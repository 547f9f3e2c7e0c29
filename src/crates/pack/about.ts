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
  if (run === null) return `${listed(files.map(nameOf), 'file')}, packed as kept.`;
  const { name } = languageNames[run.language];
  const given = listed([...run.inputs.map(nameOf), ...run.missing.map((file) => file.name)], 'input');
  const made = listed(run.results.map(nameOf), 'result');
  const day = new Date(run.startedAt).toISOString().slice(0, 10);
  return `A run of ${name} code on ${day}: ${made} from ${given}; ${run.outcome}.`;
}

const mostListed = 3;
const longestName = 60;

/** As people know a file: by its last name. */
const nameOf = ({ path }: PackedFile): string => path.slice(path.lastIndexOf('/') + 1);

/** The first names, and how many more there are: crates are told apart by them. */
function listed(names: readonly string[], what: string): string {
  if (names.length === 0) return `no ${what}s`;
  const few = names.slice(0, mostListed).map(shortened);
  const more = names.length - few.length;
  if (more > 0) return `${few.join(', ')} and ${counted(more, `more ${what}`)}`;
  return few.length === 1 ? few[0]! : `${few.slice(0, -1).join(', ')} and ${few.at(-1)}`;
}

const shortened = (name: string): string =>
  name.length > longestName ? `${name.slice(0, longestName).toWellFormed()}…` : name;

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;
