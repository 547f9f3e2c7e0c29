import { listSwitchFlags, toFlagOptions } from '../platform/config/config.ts';
import { allSettings } from '../server/settings.ts';

/** The flags that are no settings. Which command takes which is in command-help.ts. */
const commandFlags = {
  config: { type: 'string' },
  'service-env': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  'print-config': { type: 'boolean' },
  'read-data': { type: 'boolean' },
  'adopt-storage': { type: 'boolean' },
  'remove-orphans': { type: 'boolean' },
  scopes: { type: 'string' },
  expires: { type: 'string' },
  json: { type: 'boolean' },
  url: { type: 'string' },
  key: { type: 'string' },
  user: { type: 'string' },
  mode: { type: 'string' },
  filter: { type: 'string', multiple: true },
  limit: { type: 'string' },
  offset: { type: 'string' },
  glob: { type: 'string' },
  title: { type: 'string' },
  description: { type: 'string' },
  license: { type: 'string' },
  author: { type: 'string', multiple: true },
  keyword: { type: 'string', multiple: true },
  specification: { type: 'string' },
  profile: { type: 'string' },
  shared: { type: 'boolean' },
  tool: { type: 'string' },
  language: { type: 'string' },
  after: { type: 'boolean' },
  to: { type: 'string' },
  level: { type: 'string' },
  operation: { type: 'string' },
  result: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  before: { type: 'string' },
  bibliography: { type: 'string' },
  csl: { type: 'string' },
  style: { type: 'string' },
  'reference-doc': { type: 'string' },
  output: { type: 'string', short: 'o' },
  file: { type: 'string', multiple: true },
  steps: { type: 'string' },
  temperature: { type: 'string' },
  yes: { type: 'string', multiple: true },
} as const;

const switchFlags = listSwitchFlags(allSettings);

/**
 * Gives flags their values where the words leave them out. `--yes` alone means all, and takes no word behind it: that may
 * be the request. A setting that is true or false is true alone, and takes no word behind it but these two.
 */
export function completeFlags(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const completed: string[] = [];
  for (let at = 0; at < end; at++) {
    const [word, next] = [argv[at]!, argv[at + 1]];
    if (word === '--yes') completed.push('--yes=*');
    else if (!switchFlags.has(word)) completed.push(word);
    else if (at + 1 < end && (next === 'true' || next === 'false')) completed.push(`${word}=${argv[++at]}`);
    else completed.push(`${word}=true`);
  }
  return [...completed, ...argv.slice(end)];
}

/** Every flag there is, as options for the argument parser. */
export const listFlagOptions = () => ({ ...toFlagOptions(allSettings), ...commandFlags });
