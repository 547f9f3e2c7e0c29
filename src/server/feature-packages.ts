/**
 * Features in packages of their own, which are loaded where they are installed. In place of one that is not, there is a
 * feature whose command or settings say how to get it.
 */
import type { Feature } from '../core/feature.ts';
import { WorkcrateError } from '../platform/errors.ts';
import { BadValue, optionalText } from '../platform/config/kinds.ts';
import { defineSetting } from '../platform/config/setting.ts';

export interface FeaturePackage {
  readonly name: string;
  readonly settings: readonly string[];
  /** Where it has one, this says what is missing, and its settings are left unread. */
  readonly command: string | null;
}

const packages: readonly FeaturePackage[] = [
  { name: '@workcrate/ask', settings: ['endpoint', 'model', 'apiKey', 'endpointTimeout'], command: 'ask' },
  {
    name: '@workcrate/zotero',
    settings: ['zoteroLibrary', 'zoteroUrl', 'zoteroKey'],
    command: null,
  },
];

export const loadPackages = (): Promise<Feature[]> => Promise.all(packages.map(loadPackage));

export async function loadPackage(wanted: FeaturePackage): Promise<Feature> {
  try {
    const { default: feature } = (await import(wanted.name)) as { readonly default: Feature };
    return feature;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(`package '${wanted.name}'`)) throw error;
    return standInFor(wanted);
  }
}

function standInFor({ name, settings, command }: FeaturePackage): Feature {
  const remedy = `npm install ${name}`;
  const refused = {
    takes: `nothing until you run ${remedy}`,
    parse(): null {
      throw new BadValue();
    },
  };
  const kind = command === null ? refused : optionalText;
  const setting = defineSetting(kind, null, `not installed: ${remedy}`, { secret: true });
  return {
    name,
    settings: Object.fromEntries(settings.map((key) => [key, setting])),
    ...(command === null ? {} : { commands: { [command]: explainCommand(command, name, remedy) } }),
  };
}

const explainCommand = (command: string, name: string, remedy: string) => ({
  takes: '[WORD…]',
  summary: `It is not installed. Run: ${remedy}.`,
  examples: [command, `${command} --help`] as const,
  docs: `docs/guide/${command}.md`,
  load: async () => async (): Promise<never> => {
    throw new WorkcrateError(
      'config_invalid',
      `${command} needs ${name}, which is not installed. Run: ${remedy}`,
    );
  },
});
