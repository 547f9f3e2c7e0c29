import { readFileSync } from 'node:fs';

/** The layers of the tree, from the bottom to the top. */
export const layerNames = ['platform', 'ports', 'core', 'features', 'surfaces', 'server'] as const;

export type LayerName = (typeof layerNames)[number];

/** Where a room of `src/` belongs in the tree that it is moved to. A longer path comes before what it is part of. */
const places: Readonly<Record<string, string>> = {
  'crates/validate': 'features/crate-validation',
  'crates/pack': 'features/packing',
  'commands/ask': 'packages/ask',
  'documents/zotero': 'packages/zotero',
  agent: 'packages/ask',
  apps: 'features/apps',
  artifacts: 'core/artifacts',
  audit: 'core/audit',
  'client-files': 'features/client-files',
  commands: 'surfaces/cli',
  concurrency: 'platform/concurrency',
  config: 'platform/config',
  crates: 'features/crates',
  'data-folder': 'platform/data-folder',
  database: 'ports/database',
  documents: 'features/documents',
  egress: 'features/network',
  executions: 'core/runs',
  files: 'core/files',
  gateway: 'features/gateway',
  guard: 'features/guard',
  html: 'platform/html',
  http: 'surfaces/http',
  instrumentation: 'server/instrumentation',
  jobs: 'core/jobs',
  links: 'core/links',
  mcp: 'surfaces/mcp',
  net: 'platform/net',
  observability: 'platform/observability',
  packages: 'features/packages',
  pages: 'surfaces/pages',
  paths: 'platform/paths',
  previews: 'features/previews',
  prompts: 'features/prompts',
  sandbox: 'ports/sandbox',
  scripts: 'features/scripts',
  server: 'server',
  sessions: 'core/runs/sessions',
  skills: 'features/skills',
  storage: 'ports/storage',
  'tool-calls': 'features/code-mode',
  'tool-search': 'features/tool-search',
  transfer: 'platform/transfer',
  'trusted-clock': 'ports/database',
  users: 'core/users',
  workers: 'platform/workers',
  workspaces: 'core/workspaces',
  zip: 'platform/zip',
  feature: 'core',
  cli: 'server',
};

/** The part of the tree that a product file belongs to, as `core/runs`. A loose file of `src/` is of the platform. */
export function findPart(file: string): string {
  if (file.startsWith('packages/')) return file.split('/').slice(0, 2).join('/');
  const path = file.slice('src/'.length);
  if (layerNames.some((layer) => path.startsWith(`${layer}/`) && path.split('/').length > 2))
    return path.split('/').slice(0, 2).join('/');
  const room = Object.keys(places).find((name) => path.startsWith(`${name}/`) || path.startsWith(`${name}.`));
  return room === undefined ? 'platform' : places[room]!;
}

/** Lines and files of each part. */
export interface PartSize {
  readonly lines: number;
  readonly files: number;
}

export function measureParts(files: readonly string[]): Map<string, PartSize> {
  const sizes = new Map<string, PartSize>();
  for (const file of files) {
    const part = findPart(file);
    const { lines, files: count } = sizes.get(part) ?? { lines: 0, files: 0 };
    sizes.set(part, { lines: lines + countLines(file), files: count + 1 });
  }
  return sizes;
}

export const countLines = (file: string): number => readFileSync(file, 'utf8').split('\n').length - 1;
