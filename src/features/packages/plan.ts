/**
 * What an environment is to have: what was asked for before, with what is asked for now. It knows what is there, and
 * installs nothing.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import { quoteShort } from '../../platform/text/text.ts';
import { normalizeName, parseNameOnly, parseSpec, type PackageSpec } from './names.ts';
import type { InstalledPackage, Manifest } from './store.ts';
import { fitsPythonRange } from './versions.ts';

/** What the plan begins with. */
export interface KnownPackages {
  readonly language: PackageLanguage;
  readonly current: Pick<Manifest, 'requested' | 'installed'> | null;
  /** What Python has anyway, by normalized name. */
  readonly system: ReadonlyMap<string, string>;
}

export interface Plan {
  /** All that the environment is to have; sorted by name. */
  readonly specs: readonly PackageSpec[];
  /** Whether that is what it has already. */
  readonly isUnchanged: boolean;
  /** Installed packages that should keep their versions. */
  readonly keep: readonly InstalledPackage[];
  /** Of what was asked for, what need not be installed, since the system has it. */
  readonly fromSystem: readonly InstalledPackage[];
}

/** These were judged when they were asked for. */
const readRequested = ({ language, current }: KnownPackages): Map<string, PackageSpec> =>
  new Map(
    (current?.requested ?? []).map((text) => {
      const spec = parseSpec(language, text, () => true);
      return [spec.name, spec] as const;
    }),
  );

const sortSpecs = (specs: Iterable<PackageSpec>): PackageSpec[] =>
  [...specs].sort((one, other) => (one.name < other.name ? -1 : 1));

export function planInstall(known: KnownPackages, asked: readonly PackageSpec[]): Plan {
  const { language, current, system } = known;
  const specs = readRequested(known);
  const changed = new Set<string>();
  const fromSystem: InstalledPackage[] = [];
  for (const spec of asked) {
    const before = specs.get(spec.name);
    const version = language === 'python' && before === undefined ? system.get(spec.name) : undefined;
    if (version !== undefined && isPlain(spec) && fitsPythonRange(spec.range, version)) {
      fromSystem.push({ name: spec.name, version });
      continue;
    }
    // A bare name asks that it is there, in whatever version.
    if (before !== undefined && (before.text === spec.text || (isPlain(spec) && spec.range === ''))) continue;
    specs.set(spec.name, spec);
    changed.add(spec.name);
  }
  const keep = (current?.installed ?? []).filter(({ name }) => !changed.has(normalizeName(language, name)));
  return { specs: sortSpecs(specs.values()), isUnchanged: changed.size === 0, keep, fromSystem };
}

const isPlain = ({ extras, url }: PackageSpec): boolean => extras === '' && url === null;

/** Throws `not_found` for what was not asked for. */
export function planRemove(known: KnownPackages, names: readonly string[]): Plan {
  const { language, current } = known;
  const specs = readRequested(known);
  for (const text of names) {
    const name = parseNameOnly(language, text);
    if (!specs.has(name)) throw unknownPackageError(language, text, name, known);
  }
  for (const text of names) specs.delete(parseNameOnly(language, text));
  return {
    specs: sortSpecs(specs.values()),
    isUnchanged: false,
    keep: current?.installed ?? [],
    fromSystem: [],
  };
}

function unknownPackageError(
  language: PackageLanguage,
  text: string,
  name: string,
  { current }: KnownPackages,
): WorkcrateError {
  const asked = current?.requested.join(', ') ?? '';
  const isNeeded = current?.installed.some((each) => normalizeName(language, each.name) === name) === true;
  const why = isNeeded ? 'It came with another package, and goes with that.' : 'You have not installed it.';
  return new WorkcrateError(
    'not_found',
    `${quoteShort(text, 100)} cannot be removed. ${why} ${asked === '' ? 'You have installed nothing for this language.' : `You asked for: ${asked}.`} Nothing was changed.`,
  );
}
