/**
 * Makes docs/reference/settings.md and .env.example from src/platform/config/settings.ts, so that they cannot say anything else.
 *
 *   node scripts/settings-docs.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatDefault } from '../src/platform/config/config.ts';
import { trueOrFalse } from '../src/platform/config/kinds.ts';
import type { Setting } from '../src/platform/config/setting.ts';
import { allSettings, type SettingName } from '../src/server/settings.ts';
import { toEnvironmentName, toFileKey, toFlagName } from '../src/platform/config/setting.ts';
import { formatTable } from './markdown-table.ts';
import { foundOut, notes, parts } from './settings-notes.ts';

const names = Object.keys(allSettings) as SettingName[];
const settingOf = (name: SettingName): Setting<unknown> => allSettings[name]!;

interface Part {
  readonly title: string;
  readonly names: readonly SettingName[];
}

/** A new setting falls into the part in which it stands. */
function partsOfSettings(): Part[] {
  const starts = [...parts.map(([first]) => names.indexOf(first as SettingName)), names.length];
  if (starts[0] !== 0 || starts.some((start, at) => at > 0 && start <= starts[at - 1]!))
    throw new Error('The parts in settings-notes.ts do not fit the order of the settings.');
  return parts.map(([, title], at) => ({ title, names: names.slice(starts[at], starts[at + 1]) }));
}

export function settingsPage(): string {
  const template = readFileSync(join(import.meta.dirname, 'settings-template.md'), 'utf8');
  const tables = partsOfSettings().map(
    (part) => `## ${part.title}\n\n${formatTable(head, part.names.map(row))}`,
  );
  const secrets = names.filter((name) => settingOf(name).secret).map((name) => `\`${toFileKey(name)}\``);
  const told = `${secrets.slice(0, -1).join(', ')} and ${secrets.at(-1)}`;
  return template.replace('{{settings}}', tables.join('\n\n')).replace('{{secrets}}', told);
}

const head = ['flag', 'environment', 'default', 'takes', 'meaning'];

function row(name: SettingName): string[] {
  const setting = settingOf(name);
  const variables = [toEnvironmentName(name), ...(setting.aliases ?? [])].map((one) => `\`${one}\``);
  const [help, note] = [setting.help, notes[name]];
  const meaning = [help, note, setting.secret ? 'Secret' : undefined].filter((text) => text !== undefined);
  return [
    `\`--${toFlagName(name)}\``,
    variables.join(', '),
    foundOut[name] ?? quoted(formatDefault(setting)),
    setting.kind.takes,
    meaning.join('. '),
  ];
}

const quoted = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** Every setting with its default, commented out. */
export function environmentExample(): string {
  const written = partsOfSettings().map(({ title, names }) => `# ${title}\n\n${names.map(entry).join('\n')}`);
  return `# Settings of Workcrate with their defaults. Uncomment what you change; docs/reference/settings.md says more.\n\n${written.join('\n')}`;
}

function entry(name: SettingName): string {
  const setting = settingOf(name);
  const also = setting.aliases === undefined ? '' : ` Also ${setting.aliases.join(', ')}.`;
  const help = `# ${setting.help}.${also}${setting.secret ? ' Secret.' : ''}`;
  return `${help}\n#${toEnvironmentName(name)}=${exampleValue(name)}\n`;
}

function exampleValue(name: SettingName): string {
  if (foundOut[name] !== undefined) return '';
  const setting = settingOf(name);
  // False is no default that is worth showing elsewhere, but here it tells what may be written.
  return setting.kind === trueOrFalse && setting.fallback({}) === false ? 'false' : formatDefault(setting);
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..');
  writeFileSync(join(root, 'docs/reference/settings.md'), settingsPage());
  writeFileSync(join(root, '.env.example'), environmentExample());
}
