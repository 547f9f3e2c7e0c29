/**
 * What may be asked for by name: `pandas`, `pandas>=2,<3`, `pkg[extra]`; `lodash`, `lodash@4.17.21`, `@scope/name@^1`.
 * A grammar of our own, narrower than those of pip and npm, so that no name is read as an option, a path, a URL, a
 * repository or anything of a shell. It does not know which packages there are.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import { quoteShort } from '../../platform/text/text.ts';

/** A package that was asked for, and which of its versions. */
export interface PackageSpec {
  /** As pip and npm take it. */
  readonly text: string;
  /** As registries compare names: of Python in lower case, with dashes. */
  readonly name: string;
  /** The versions: `>=2,<3`, `^1`; empty for any. Without that of a URL. */
  readonly range: string;
  /** `[extra]`, or empty. */
  readonly extras: string;
  /** Where it is had from, other than from the registry; null for the registry. */
  readonly url: URL | null;
}

/** Whether packages may be named by a URL, and of which hosts. */
export type MayUseUrl = (url: URL) => boolean;

const maxNameCharacters = 300;

const pythonName = String.raw`[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?`;
const pythonClause = String.raw`(?:===|==|~=|!=|<=|>=|<|>)[A-Za-z0-9](?:[A-Za-z0-9.*+!_-]{0,60})`;
const pythonSpec = new RegExp(
  `^(?<name>${pythonName})(?<extras>\\[${pythonName}(?:,${pythonName}){0,20}\\])?` +
    `(?:(?<range>${pythonClause}(?:,${pythonClause}){0,9})|@(?<url>https?://\\S{1,250}))?$`,
);
const nodeName = '[A-Za-z0-9](?:[A-Za-z0-9._-]{0,99})';
const nodeSpec = new RegExp(
  `^(?<name>(?:@${nodeName}/)?${nodeName})(?:@(?:(?<url>https?://\\S{1,250})|(?<range>[\\^~]?[\\w*][\\w.*+-]{0,60}|[<>]=?\\d[\\w.+-]{0,60})))?$`,
);
const forms: Readonly<Record<PackageLanguage, { pattern: RegExp; title: string; examples: string }>> = {
  python: {
    pattern: pythonSpec,
    title: 'Python',
    examples: 'pandas, pandas==2.1.0, pandas>=2,<3 or pkg[extra]',
  },
  node: { pattern: nodeSpec, title: 'Node', examples: 'lodash, lodash@4.17.21 or @scope/name@^1' },
};

export function parseSpec(language: PackageLanguage, text: string, mayUse: MayUseUrl): PackageSpec {
  const { pattern } = forms[language];
  const groups = text.length > maxNameCharacters ? undefined : pattern.exec(text)?.groups;
  const { name, extras = '', range = '', url: address } = groups ?? {};
  const url = address === undefined ? null : URL.parse(address);
  if (name === undefined || (address !== undefined && (url === null || !mayUse(url))))
    throw createBadPackageNameError(language, text);
  return { text, name: normalizeName(language, name), extras, range, url };
}

/** All of them, or an error and none. The same name with other versions is one too many. */
export function parseSpecs(
  language: PackageLanguage,
  texts: readonly string[],
  mayUse: MayUseUrl,
): PackageSpec[] {
  const specs = new Map<string, PackageSpec>();
  for (const text of texts) {
    const spec = parseSpec(language, text, mayUse);
    const other = specs.get(spec.name);
    if (other !== undefined && other.text !== text)
      throw new WorkcrateError(
        'invalid_input',
        `${quoteShort(other.text, 60)} and ${quoteShort(text, 60)} are the same package. Name it once.`,
      );
    specs.set(spec.name, spec);
  }
  return [...specs.values()];
}

/** The name alone, of something that was asked for before; versions do not matter. */
export const parseNameOnly = (language: PackageLanguage, text: string): string =>
  parseSpec(language, text, () => true).name;

export const normalizeName = (language: PackageLanguage, name: string): string =>
  language === 'python' ? name.replaceAll(/[-_.]+/g, '-').toLowerCase() : name;

function createBadPackageNameError(language: PackageLanguage, text: string): WorkcrateError {
  const { title, examples } = forms[language];
  return new WorkcrateError(
    'invalid_input',
    `${quoteShort(text, 100)} is not the name of a ${title} package. Write ${examples}, without spaces. Options, paths, URLs and markers are not taken.`,
  );
}
