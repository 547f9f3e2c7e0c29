import { toFlagOptions } from '../config/config.ts';

/** The flags that are no settings. Which command takes which is in command-help.ts. */
const commandFlags = {
  config: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
  'print-config': { type: 'boolean' },
  'read-data': { type: 'boolean' },
  'adopt-storage': { type: 'boolean' },
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

/** `--yes` alone means all, and takes no word behind it: that may be the request. */
export function completeFlags(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  return argv.map((word, at) => (word === '--yes' && at < end ? '--yes=*' : word));
}

/** Every flag there is, as options for the argument parser. */
export const listFlagOptions = () => ({ ...toFlagOptions(), ...commandFlags });
