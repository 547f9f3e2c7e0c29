/**
 * The operator's list of packages that may be asked for, with patterns and versions: `pandas`, `python:numpy==1.26.*`,
 * `node:@scope/*`, `lodash@4.17.21`. What a package needs comes with it, whether it is on the list or not; versions of the
 * list hold for that too.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import { createGlob } from '../../platform/text/glob.ts';
import { packageLanguages, type PackageLanguage } from '../../ports/sandbox/environments.ts';
import { quoteShort } from '../../platform/text/text.ts';
import { normalizeName, type PackageSpec } from './names.ts';
import { fitsNodeRange } from './versions.ts';

interface AllowedPackage {
  readonly text: string;
  readonly languages: readonly PackageLanguage[];
  matches(name: string): boolean;
  /** The name where it is no pattern. */
  readonly name: string;
  /** `==1.26.*` or `4.17.21`; empty for any. */
  readonly version: string;
}

export interface AllowedPackages {
  /** The same, with the version of the list where that has one. Throws `package_refused` for what is not on the list. */
  judge(language: PackageLanguage, spec: PackageSpec): PackageSpec;
  /** Versions that the list has for single names, as `name==1.2` or as entries of npm's overrides. */
  listPins(language: PackageLanguage): readonly (readonly [name: string, version: string])[];
  /** In words for people; null where everything may be asked for. */
  readonly described: string | null;
}

const entryPattern =
  /^(?:(python|node):)?(@?[A-Za-z0-9*?][A-Za-z0-9._*?/-]{0,200})(?:(==[\w.*+!-]+)|@([\w.*^~+-]+))?$/;

/** An empty list allows all. */
export function createAllowedPackages(texts: readonly string[]): AllowedPackages {
  const entries = texts.map(parseEntry);
  const findEntry = (language: PackageLanguage, name: string): AllowedPackage | undefined =>
    entries.find((entry) => entry.languages.includes(language) && entry.matches(name));
  return {
    judge(language, spec) {
      if (entries.length === 0) return spec;
      const entry = findEntry(language, spec.name);
      if (entry === undefined || (entry.version !== '' && spec.url !== null))
        throw createNotAllowedError(language, spec, entries);
      return entry.version === '' ? spec : pinSpec(language, spec, entry);
    },
    listPins: (language) =>
      entries
        .filter(
          (entry) => entry.languages.includes(language) && entry.version !== '' && !/[*?]/.test(entry.name),
        )
        .map(({ name, version }) => [normalizeName(language, name), version] as const),
    described: entries.length === 0 ? null : texts.join(', '),
  };
}

/** Throws `config_invalid` for what is no entry. */
function parseEntry(text: string): AllowedPackage {
  const match = entryPattern.exec(text);
  if (match === null)
    throw new WorkcrateError(
      'config_invalid',
      `${quoteShort(text, 100)} in --packages-allow is no package. Write names such as pandas, python:numpy==1.26.*, node:@scope/* or lodash@4.17.21, separated by commas.`,
    );
  const [, language, name, pythonVersion, nodeVersion] = match;
  const only = language ?? (pythonVersion ? 'python' : nodeVersion ? 'node' : null);
  const languages = packageLanguages.filter((each) => only === null || each === only);
  // Of Python, names are compared as registries do. A star is any characters, but not the slash of a scope.
  const globs = languages.map((each) => createGlob(normalizeName(each, name!)));
  return {
    text,
    languages,
    matches: (asked) => globs.some((fits) => fits(asked) && asked.includes('/') === name!.includes('/')),
    name: name!,
    version: pythonVersion ?? nodeVersion ?? '',
  };
}

function pinSpec(
  language: PackageLanguage,
  spec: PackageSpec,
  { version, text }: AllowedPackage,
): PackageSpec {
  if (language === 'python') {
    const range = [version, spec.range === version ? '' : spec.range].filter((part) => part !== '').join(',');
    return { ...spec, range, text: `${spec.name}${spec.extras}${range}` };
  }
  if (spec.range !== '' && spec.range !== version && !fitsNodeRange(spec.range, version))
    throw new WorkcrateError(
      'package_refused',
      `${quoteShort(spec.text, 100)} may not be installed here: the operator allows ${text}. Ask for that.`,
    );
  return { ...spec, range: version, text: `${spec.name}@${version}` };
}

const maxAllowedShown = 40;

function createNotAllowedError(
  language: PackageLanguage,
  { text }: PackageSpec,
  entries: readonly AllowedPackage[],
): WorkcrateError {
  const allowed = entries.filter((entry) => entry.languages.includes(language));
  const shown = allowed.slice(0, maxAllowedShown).map((entry) => entry.text);
  const more = allowed.length > maxAllowedShown ? `, and ${allowed.length - maxAllowedShown} more` : '';
  const list = allowed.length === 0 ? 'nothing for this language' : `${shown.join(', ')}${more}`;
  return new WorkcrateError(
    'package_refused',
    `${quoteShort(text, 100)} may not be installed here. The operator allows: ${list}. Ask for one of these, or ask the operator (--packages-allow).`,
  );
}
