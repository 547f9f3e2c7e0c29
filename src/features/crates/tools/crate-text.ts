/** What models read of one crate: all that is known of it, a fact a line, and its files with the next call. */
import { formatBytes, quoteName, quoteShort } from '../../../platform/text/text.ts';
import type { CrateFileListing } from '../contents/contents.ts';
import type { CrateSummary } from '../metadata/summary.ts';
import { formatLocator } from './schema.ts';
import { describeNext, quoteSome } from './search-text.ts';

const maxDescription = 2000;
const maxListItem = 200;
const maxListItems = 20;
const maxTypes = 20;
const maxIssues = 20;
const maxIssueLength = 300;

export function describeCrate(crate: CrateSummary): string {
  const { authors, keywords, identifiers, profiles, description } = crate;
  return [
    `${crate.crate_id} ${quoteShort(crate.title, 500)}`,
    ...describeList('Authors', authors),
    describePublication(crate),
    ...describeDescription(description),
    ...describeList('Keywords', keywords),
    ...describeList('Identifiers', identifiers),
    ...describeList('Profiles', profiles),
    describeContents(crate),
    ...describeMainEntity(crate),
    ...describePlace(crate),
    ...describeIssues(crate),
    'Its files: list_crate_files. One file: read_crate_file. All of it: download_crate.',
  ].join('\n');
}

const describeList = (what: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`${what}: ${quoteSome(items, maxListItems, maxListItem)}`];

function describePublication({ date_published, year, license, spec_version }: CrateSummary): string {
  const names = [license?.name, license?.id].filter((text) => typeof text === 'string');
  const licence =
    names.length === 0 ? 'no licence stated' : `licence ${quoteSome([...new Set(names)], 2, maxListItem)}`;
  const date = date_published ?? (year === null ? null : String(year));
  return `${date === null ? 'No date of publication' : `Published ${date}`}, ${licence}, RO-Crate ${spec_version === null ? 'version not stated' : quoteVersion(spec_version)}`;
}

const quoteVersion = (version: string): string =>
  /^[\w.-]{1,40}$/.test(version) ? version : quoteShort(version, 40);

function describeDescription(description: string): string[] {
  if (description === '') return [];
  const more = description.length - maxDescription;
  const rest = more > 0 ? ` (${more} more characters are in its metadata file)` : '';
  return [`Description: ${quoteShort(description, maxDescription)}${rest}`];
}

function describeContents({ file_count, bytes, entity_count, types, root_id }: CrateSummary): string {
  const shown = types.slice(0, maxTypes).map(({ type, count }) => `${quoteVersion(type)} ${count}`);
  const more = types.length - shown.length;
  const listed =
    shown.length === 0 ? '' : `: ${shown.join(', ')}${more > 0 ? ` and ${more} more types` : ''}`;
  return `${count(file_count, 'file')}${bytes === null ? '' : `, ${formatBytes(bytes)}`}; ${count(entity_count, 'entity', 'entities')}${listed}; root ${quoteName(root_id.slice(0, maxListItem))}`;
}

const count = (number: number, one: string, several = `${one}s`): string =>
  `${number} ${number === 1 ? one : several}`;

function describeMainEntity({ main_entity: main }: CrateSummary): string[] {
  if (main === null) return [];
  const name = main.name === null ? '' : ` ${quoteShort(main.name, maxListItem)}`;
  const types = main.types.map(quoteVersion).join(', ');
  return [`Main entity: ${quoteShort(main.id, maxListItem)}${name}${types === '' ? '' : `, ${types}`}`];
}

const kindNames = { zip: 'A zip', folder: 'A folder, its metadata', detached: 'Metadata alone (detached)' };

function describePlace({ kind, size, last_modified, indexed_at, resource_locator }: CrateSummary): string[] {
  const bytes = size === null ? '' : ` of ${formatBytes(size)}`;
  const changed = last_modified === null ? '' : `, changed ${toMinute(last_modified)}`;
  return [
    `${kindNames[kind]}${bytes}${changed}, indexed ${toMinute(indexed_at)}`,
    `At ${formatLocator(resource_locator)}`,
  ];
}

const toMinute = (iso: string): string => `${iso.slice(0, 16)}Z`;

function describeIssues({ issues }: CrateSummary): string[] {
  const shown = issues
    .slice(0, maxIssues)
    .map(
      ({ code, message, count: times }) =>
        `Problem: ${code} (${times}): ${quoteShort(message, maxIssueLength)}`,
    );
  const more = issues.length - shown.length;
  return more > 0 ? [...shown, `and ${more} more problems`] : shown;
}

const maxFilesInText = 50;
const maxListingCharacters = 16_000;

/** The files on a page that the text shows: fewer where their names are long. */
export function describeCrateFiles(
  listing: CrateFileListing,
  offset: number,
): { text: string; isAll: boolean } {
  const { total, files, unsafe } = listing;
  const lines: string[] = [];
  let characters = 0;
  for (const { path, size } of files.slice(0, maxFilesInText)) {
    const line = `${size} ${quoteName(path)}`;
    if ((characters += line.length) > maxListingCharacters && lines.length > 0) break;
    lines.push(line);
  }
  const end = offset + lines.length;
  const isAll = lines.length === total;
  const range = isAll || lines.length === 0 ? '' : `, ${offset + 1} to ${end} shown`;
  return {
    isAll,
    text: [
      `${count(total, 'file')}${range}${lines.length === 0 ? '' : ', each after its bytes:'}`,
      ...lines,
      ...describeNext(lines.length > 0 && end < total ? end : null, total),
      ...(unsafe > 0
        ? [
            `${count(unsafe, 'entry', 'entries')} not listed: their names lead outside the crate or are invalid`,
          ]
        : []),
    ].join('\n'),
  };
}
