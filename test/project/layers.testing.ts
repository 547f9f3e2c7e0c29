/**
 * Exceptions to what paths say: `check-layers.testing.ts` has the rules. Paths are below `src/`.
 */

/** Imports of a layer above, by the room that imports. None is to be added. */
export const upward: Readonly<Record<string, readonly string[]>> = {};

/** Rooms that are collections: every file is a door. */
export const openRooms: readonly string[] = [
  'platform/command-line',
  'platform/concurrency',
  'platform/net',
  'platform/text',
  'platform/http',
  'core/offer',
];

/**
 * Which files of a room others may import; a star is every file. `all` is for every room above, and the file named
 * after the room if nothing is said. `assembly` is for those that put rooms together, `only` for single rooms.
 */
export interface Doors {
  readonly all?: string;
  readonly assembly?: string;
  readonly only?: Readonly<Record<string, string>>;
}

export const doors: Readonly<Record<string, Doors>> = {
  'core/artifacts': {
    only: {
      'features/packing': 'changes',
      'features/prompts': 'resources',
      'surfaces/pages': 'route tools',
    },
  },
  'core/audit': {
    only: {
      'features/apps': 'transfers',
      'features/gateway': 'note-change',
      'features/guard': 'run-lines',
      'surfaces/pages': 'tools',
    },
  },
  'core/files': {
    only: {
      'core/links': 'local-files',
      'surfaces/pages': 'tools',
      'features/prompts': 'resources',
    },
  },
  'core/jobs': {
    all: 'jobs ends exclusive rows watchers',
  },
  'core/links': {
    all: 'links link-result',
    only: {
      'surfaces/pages': 'download-response link-page status-tools tools upload-form',
      'core/audit': 'download-route link',
    },
  },
  'core/runs': {
    all: 'executions describe-run extension run-program',
    only: {
      'features/apps': 'answer schema',
      'features/packing': 'schema sessions/sessions',
      'features/client-files': 'input-files tools',
      'features/code-mode': 'fields questions',
      'features/guard': 'fields',
      'features/network': 'fields',
      'features/provenance': 'difference fields working-dir',
      'features/scripts': 'client-and-crate-files fields schema store tools',
      'features/prompts': 'resources',
      'surfaces/pages': 'answer schema sessions/manage-tool sessions/schema sessions/sessions',
      'core/feature.ts': 'sessions/sessions surroundings tools',
    },
  },
  'features/apps': {
    assembly: '',
  },
  'features/client-files': {
    assembly: 'client-files',
  },
  'features/client-files/cache': {
    all: 'cache tools',
  },
  'features/client-files/requests': {
    all: 'requests by-user commands file-request filesystem-challenge list methods pending-uploads read',
  },
  'features/client-files/tools': {
    all: 'list read',
  },
  'features/code-mode': {
    assembly: 'runs store tool-calls',
    only: {
      'features/packing': 'offered-tool recorded store',
    },
  },
  'features/crate-validation': {
    assembly: 'validate',
  },
  'features/crates': {
    assembly:
      'crate crates metadata/metadata open pack-target source-options sources/sources tools/schema views',
    only: {
      'features/apps': 'crates',
      'features/crate-validation':
        'crate crates metadata/metadata sources/sources tools/redact-folders tools/schema',
      'features/packing':
        'contents/archive crate crates metadata/metadata sources/sources tools/redact-folders tools/schema',
      'surfaces/pages': 'views',
    },
  },
  'features/crates/contents': {
    all: 'archive contents copies inline-text',
  },
  'features/crates/index': {
    all: 'filling local-index ranking reading rows texts',
  },
  'features/crates/metadata': {
    all: 'metadata summary',
  },
  'features/crates/query': {
    all: 'facets parse text-fields',
  },
  'features/crates/sources': {
    all: 'address folder-put sources',
  },
  'features/crates/sync': {
    all: 'sync index-updater retry shared-sync under-way',
  },
  'features/crates/text': {
    all: 'stop-words words',
  },
  'features/crates/tools': {
    all: 'find redact-folders room schema share sync',
  },
  'features/crates/workers': {
    all: 'workers lost-index',
  },
  'features/documents': {
    assembly: 'documents open sanitize/markdown',
  },
  'features/documents/citations': {
    all: 'bibliography cite styles validate',
  },
  'features/documents/sanitize': {
    all: 'ast attributes markdown svg',
  },
  'features/documents/tools': {
    all: 'build validate',
  },
  'features/documents/typst': {
    all: 'typst fonts template',
  },
  'features/documents/worker': {
    all: 'worker open',
  },
  'features/gateway': {
    assembly: 'gateway pins upstream-tool',
  },
  'features/guard': {
    assembly: 'guard',
  },
  'features/network': {
    assembly: 'egress runs',
    only: {
      'features/packing': 'runs',
    },
  },
  'features/packages': {
    assembly: 'packages tools',
    only: { 'surfaces/pages': 'schema' },
  },
  'features/packing': {
    assembly: 'pack packing provide-input replay',
  },
  'features/provenance': {
    assembly: 'provenance record',
    only: {
      'features/packing': 'provenance',
      'surfaces/pages': 'provenance',
    },
  },
  'features/scripts': {
    assembly: 'record scripts tools',
  },
  'features/skills': {
    assembly: 'schema skills',
  },
  'features/tool-search': {
    assembly: 'tool-search',
    only: {
      'surfaces/packages': 'tool-search',
    },
  },
  'platform/config': {
    all: 'config kinds setting',
  },
  'platform/data-folder': {
    all: 'data-folder disk-reserve',
  },
  'platform/html': {
    all: 'html response browser-script elements.browser',
    only: {
      'surfaces/pages': 'highlight qr',
      'features/apps': 'style',
    },
  },
  'platform/observability': {
    all: 'log',
    only: {
      'surfaces/pages': 'history',
      'core/links': 'metrics',
      'core/feature.ts': 'metrics',
      'features/crates': 'metrics',
      'features/documents': 'metrics',
      'surfaces/http': 'metrics tracing',
      'surfaces/mcp': 'tracing',
    },
  },
  'platform/previews': {
    only: {
      'features/apps': 'picture-size table',
      'surfaces/pages': 'picture-size',
    },
  },
  'platform/workers': {
    all: 'workers inside',
  },
  'platform/zip': {
    only: {
      'features/crates': 'unzip',
      'features/documents': 'unzip',
    },
  },
  'ports/database': {
    all: 'database trusted-clock',
    only: {
      'features/crates': 'open',
    },
  },
  'ports/sandbox': {
    only: {
      'core/workspaces': 'environments',
      'features/packages': 'environments',
      'features/gateway': 'subprocess/descendants',
    },
  },
  'ports/sandbox/cgroups': {
    all: 'cgroups processes',
  },
  'ports/sandbox/sessions': {
    all: 'cell-output frames session',
  },
  'ports/sandbox/subprocess': {
    all: 'command descendants folders interpreter',
  },
  'ports/storage': {
    only: {
      'core/store-options.ts': 'open',
      'features/crates': 'open source',
      'features/packing': 'source',
    },
  },
  'ports/storage/azure': {
    all: 'azure source',
  },
  'ports/storage/s3': {
    all: 's3 source',
  },
  'surfaces/mcp': {
    only: {
      'surfaces/http': 'http',
    },
  },
  'surfaces/mcp/tasks': {
    all: 'tasks listen long-call methods',
  },
};

/** Packages and modules that only some rooms may use, whatever their layer. */
export const packages: Readonly<Record<string, string>> = {
  '@ai-sdk/openai-compatible': 'packages/ask',
  '@bjorn3/browser_wasi_shim': 'features/documents/pandoc',
  '@hono/node-server': 'surfaces/http',
  '@modelcontextprotocol/client': 'packages/ask features/gateway',
  '@modelcontextprotocol/server/stdio': 'cli',
  '@myriaddreamin/typst-ts-node-compiler': 'features/documents/typst',
  '@opentelemetry/api': 'platform/observability/tracing.ts',
  '@prometheus-io/client': 'platform/observability',
  '@resvg/resvg-wasm': 'features/documents/formats',
  ai: 'packages/ask',
  aws4fetch: 'ports/storage/s3',
  'content-disposition': 'core/links',
  jose: 'core/users',
  marked: 'platform/previews',
  'mime-types': 'core/files',
  'node:child_process':
    'ports/sandbox features/gateway platform/workers features/documents features/packages/configured.ts platform/paths/remove-tree.ts platform/paths/sync.ts',
  'node:sqlite': 'ports/database platform/data-folder features/crates/index',
  'node:worker_threads': 'platform/workers features/crates/workers features/documents/pandoc',
  pg: 'ports/database',
  stemmer: 'features/crates/text features/tool-search',
  yaml: 'platform/config features/network/secret-file.ts features/guard/rule-file.ts',
};
