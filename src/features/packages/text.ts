/** What the tools of packages say to a model: every fact, in few words. */
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import { formatBytes, formatDuration } from '../../platform/text/text.ts';
import type { PackageChange } from './install.ts';
import type { RunningJob } from './jobs.ts';
import type { ListedLanguage } from './packages.ts';
import type { InstalledPackage } from './store.ts';

const packageLanguageTitles: Readonly<Record<PackageLanguage, string>> = { python: 'Python', node: 'Node' };

/** Of a long list, its beginning: what was asked for is in the text besides. */
const maxNamedPackages = 100;

/** `pandas 2.1.0, numpy 1.26.0, and 3 more`. */
function namePackages(all: readonly InstalledPackage[]): string {
  const names = all.slice(0, maxNamedPackages).map(({ name, version }) => `${name} ${version}`);
  return all.length > maxNamedPackages
    ? `${names.join(', ')}, and ${all.length - maxNamedPackages} more`
    : names.join(', ');
}

export function describeChange(change: PackageChange, verb: 'installed' | 'removed'): string {
  const { language, added, removed, fromSystem, current, isChanged, tookMs } = change;
  const title = packageLanguageTitles[language];
  const took = `in ${formatDuration(tookMs)}`;
  const asked = current?.requested.join(', ') ?? '';
  const left = `Asked for until now: ${asked} (${formatBytes(current?.bytes ?? 0)}).`;
  const lines = [
    ...(added.length === 0 ? [] : [`Added for ${title}: ${namePackages(added)}.`]),
    ...(removed.length === 0 ? [] : [`No longer there for ${title}: ${namePackages(removed)}.`]),
    ...(fromSystem.length === 0 ? [] : [`There without an install: ${namePackages(fromSystem)}.`]),
    ...(isChanged
      ? [
          `Done ${took}. The next run or cell of a session has this; a module that a session has imported stays as it is.`,
        ]
      : [
          `${verb === 'installed' ? 'All of it was there already.' : 'Nothing was changed.'} Looked ${took}.`,
        ]),
    asked === '' ? `Nothing is installed for ${title} now.` : left,
  ];
  return lines.join('\n');
}

export function describeRunningInstall({ language, names }: RunningJob, tookMs: number): string {
  return `The packages for ${packageLanguageTitles[language]} are still being installed after ${formatDuration(tookMs)} (${names.join(', ')}). It goes on. To wait for it, make the same call again; list_packages shows what is under way.`;
}

const toSecond = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

export function describePackageList(
  languages: readonly ListedLanguage[],
  jobs: readonly RunningJob[],
  allowed: string | null,
): string {
  return [
    ...languages.map(describeLanguage),
    ...jobs.map(
      ({ language, names, since }) =>
        `Under way for ${packageLanguageTitles[language]} since ${toSecond(since)}: ${names.join(', ')}.`,
    ),
    ...(allowed === null ? [] : [`May be installed: ${allowed}.`]),
  ].join('\n');
}

function describeLanguage(listed: ListedLanguage): string {
  const lost = listed.wasDamaged
    ? ' What was installed last was damaged, as by a loss of power, and is not used: install it again.'
    : '';
  return `${describeInstalled(listed)}${lost}`;
}

function describeInstalled({ language, current, isStale, registry }: ListedLanguage): string {
  const title = packageLanguageTitles[language];
  if (current === null)
    return `${title}: nothing is installed. install_packages gets packages from ${registry}.`;
  const { requested, installed, bytes, madeAt } = current;
  const stale = isStale
    ? ' It was made for another interpreter than runs have now: install any of it again, and all of it is made anew.'
    : '';
  return `${title}, from ${registry}, ${formatBytes(bytes)}, since ${toSecond(madeAt)}: asked for ${requested.join(', ')}; there are ${namePackages(installed)}.${stale}`;
}
