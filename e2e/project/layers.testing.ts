/**
 * The layers and the doors of `src/`, as data; `check-layers.testing.ts` says what they mean. A name is a folder, or
 * a file that is a room by itself. Bottom layer first: a room imports lower layers, and never its own.
 */
export const layers: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '': [
    [
      'clock.ts',
      'concurrency',
      'edit-distance.ts',
      'errors.ts',
      'filenames.ts',
      'identity.ts',
      'pictures.ts',
      'program.ts',
      'secrets.ts',
      'streams.ts',
      'text.ts',
      'version.ts',
    ],
    ['config', 'database', 'glob.ts', 'html', 'net', 'observability', 'paths', 'zip'],
    ['trusted-clock.ts'],
    ['agent', 'data-folder', 'egress', 'mcp', 'workers'],
    ['previews', 'sandbox', 'storage', 'users'],
    ['files', 'http', 'transfer', 'workspaces'],
    ['links'],
    ['audit'],
    ['guard'],
    ['tool-calls'],
    ['artifacts', 'client-files', 'executions', 'gateway'],
    ['feature.ts'],
    ['crates', 'documents', 'packages', 'scripts', 'sessions', 'skills'],
    ['apps', 'prompts', 'tool-search'],
    ['instrumentation', 'pages'],
    ['server'],
    ['commands'],
    ['cli.ts'],
  ],
  'client-files': [['policy', 'text'], ['cache'], ['requests'], ['tools']],
  crates: [
    ['metadata', 'pack', 'sources', 'text'],
    ['contents', 'provenance', 'query', 'validate'],
    ['index'],
    ['semantic'],
    ['sync'],
    ['tools', 'workers'],
  ],
  documents: [
    ['pandoc', 'sanitize', 'typst', 'zotero'],
    ['citations', 'formats'],
    ['tools', 'worker'],
  ],
  guard: [['shipped']],
  mcp: [['stdio', 'tasks']],
  skills: [['docstrings']],
  'tool-calls': [['stubs']],
  sandbox: [['cgroups', 'seccomp', 'sessions'], ['bubblewrap', 'docker', 'subprocess'], ['open.ts']],
  storage: [['remote'], ['azure', 'disk.ts', 'memory.ts', 's3'], ['open.ts']],
};

/** From this room of `src/` upwards the others are put together. */
export const assembly = 'server';

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
  apps: {
    assembly: 'table-reader tools',
  },
  artifacts: {
    assembly: 'changes run-pictures resources route tools',
    only: {
      crates: 'changes',
      prompts: 'resources',
      pages: 'route',
    },
  },
  audit: {
    assembly: 'chain files open read run-lines sign-ins tools transfers verify waiting wrappers',
    only: { guard: 'run-lines' },
  },
  'client-files': {
    assembly: 'cache/cache page policy/policy tools',
  },
  'client-files/cache': {
    all: 'cache tools',
  },
  'client-files/requests': {
    all: 'requests by-user commands file-request filesystem-challenge list methods pending-uploads read',
  },
  'client-files/tools': {
    all: 'list read',
  },
  commands: {
    all: '',
    assembly: '*',
  },
  concurrency: {
    all: '*',
  },
  config: {
    all: 'config setting',
    only: { skills: 'code-settings', 'tool-search': 'settings' },
  },
  crates: {
    assembly:
      'crate metadata/metadata pack/pack pack/provide-input pack/replay resources sources/address sources/folder-put sources/sources tools tools/schema validate/validate views',
    only: {
      pages: 'views',
    },
  },
  'crates/contents': {
    all: 'contents copies inline-text',
  },
  'crates/index': {
    all: 'ranking reading writing',
  },
  'crates/metadata': {
    all: 'metadata summary',
  },
  'crates/pack': {
    all: 'pack archive entities specification',
  },
  'crates/query': {
    all: 'facets parse text-fields',
  },
  'crates/sync': {
    all: 'sync index-updater retry shared-sync under-way',
  },
  'crates/text': {
    all: 'stop-words words',
  },
  'crates/tools': {
    all: 'find pack redact-folders share sync validate',
  },
  'crates/validate': {
    all: 'validate profiles report',
  },
  'crates/workers': {
    all: 'workers lost-index',
  },
  'data-folder': {
    all: 'data-folder disk-reserve',
    assembly: 'disk-ballast',
  },
  database: {
    assembly: 'open',
    only: {
      crates: 'open',
    },
  },
  documents: {
    assembly: 'sanitize/markdown tools typst/fonts worker/open zotero/library zotero/zotero',
  },
  'documents/citations': {
    all: 'bibliography cite styles validate',
  },
  'documents/sanitize': {
    all: 'ast attributes markdown svg',
  },
  'documents/tools': {
    all: 'build validate',
  },
  'documents/typst': {
    all: 'typst fonts template',
  },
  'documents/worker': {
    all: 'worker open',
  },
  'documents/zotero': {
    all: 'library tools',
  },
  executions: {
    assembly: 'input-files resources route schema store surroundings tools',
    only: {
      'feature.ts': 'surroundings',
      instrumentation: 'store',
      pages: 'schema',
      prompts: 'resources',
      scripts: 'client-and-crate-files fields schema store tools',
      sessions: 'cell-slot client-and-crate-files journal schema tools working-dir',
    },
  },
  files: {
    assembly: 'local-files resources stored-file tools verify',
    only: {
      links: 'local-files',
      prompts: 'resources',
    },
  },
  guard: {
    assembly: 'examples rule-file wrappers',
  },
  gateway: {
    assembly: 'difference pins report upstream-tool',
  },
  http: {
    all: 'answer connection',
    assembly:
      'app auth client-address host-origin openapi page-cookie page-sign-in port rate-limit server sign-in-state',
  },
  instrumentation: {
    assembly: 'counts',
  },
  html: {
    all: 'highlight html qr response',
    only: { apps: 'style' },
  },
  links: {
    all: 'links link-result',
    assembly: 'all-links download-route end-rights offload open-uploads tools upload-routes',
    only: {
      instrumentation: 'counts',
      audit: 'download-route link',
      pages: 'download-response link-page upload-form',
    },
  },
  mcp: {
    all: 'extension prompt resource schema tool toolbox upstream views',
    assembly: 'answered-requests asking handlers http late-offer server stdio/transport tasks/tasks',
    only: {
      http: 'http',
      audit: 'answered-requests refused-calls',
      guard: 'answered-requests',
    },
  },
  'mcp/stdio': {
    all: '',
  },
  'mcp/tasks': {
    all: 'listen long-call methods tasks',
  },
  net: {
    all: '*',
  },
  observability: {
    all: 'history log metrics tracing',
  },
  packages: {
    assembly: 'tools',
  },
  previews: {
    only: { apps: 'picture-size table', pages: 'picture-size' },
  },
  sandbox: {
    all: 'sandbox environments',
    assembly: 'open',
    only: {
      gateway: 'subprocess/descendants',
    },
  },
  'sandbox/cgroups': {
    all: 'cgroups processes',
  },
  'sandbox/sessions': {
    all: 'cell-output frames session',
  },
  'sandbox/subprocess': {
    all: 'command descendants folders interpreter',
  },
  scripts: {
    assembly: 'tools',
  },
  server: {
    all: '',
    assembly:
      'call-control connect-lines crates documents early-factory execution gateway link-base pack-target place server-address server-id small-memory start startable status store-options stores user-folders',
  },
  sessions: {
    assembly: 'tools',
  },
  skills: {
    assembly: 'feature schema',
  },
  prompts: {
    assembly: 'feature',
  },
  paths: {
    assembly: 'public-folder',
  },
  'skills/docstrings': {
    all: 'docstrings docstring',
  },
  storage: {
    assembly: 'open source',
    only: {
      crates: 'open source',
    },
  },
  'storage/azure': {
    all: 'azure source',
  },
  'storage/s3': {
    all: 's3 source',
  },
  'tool-search': {
    assembly: 'feature',
  },
  'tool-calls': {
    all: 'tool-calls store',
    only: {
      crates: 'offered-tool recorded',
      executions: 'call-summary',
    },
  },
  users: {
    assembly: 'issuer-url keys names oauth remove',
    only: {
      instrumentation: 'counts',
    },
  },
  workers: {
    all: 'workers inside',
  },
  zip: {
    all: 'zip unzip',
  },
};

/** Packages and modules that only some rooms may use, whatever their layer. */
export const packages: Readonly<Record<string, string>> = {
  '@ai-sdk/openai-compatible': 'agent',
  '@bjorn3/browser_wasi_shim': 'documents/pandoc',
  '@hono/node-server': 'http',
  '@modelcontextprotocol/client': 'agent commands gateway',
  '@modelcontextprotocol/server/stdio': 'commands',
  '@myriaddreamin/typst-ts-node-compiler': 'documents/typst',
  '@opentelemetry/api': 'observability/tracing.ts',
  '@prometheus-io/client': 'observability',
  '@resvg/resvg-wasm': 'documents/formats',
  ai: 'agent',
  aws4fetch: 'storage/s3',
  'content-disposition': 'links',
  jose: 'users',
  marked: 'previews',
  'mime-types': 'files',
  'node:child_process':
    'sandbox gateway workers documents packages/configured.ts paths/remove-tree.ts paths/sync.ts',
  'node:ffi': 'transfer',
  'node:sqlite': 'database data-folder',
  'node:worker_threads': 'workers crates/workers documents/pandoc',
  pg: 'database',
  stemmer: 'crates/text tool-search',
  yaml: 'config egress/secret-file.ts guard/rule-file.ts',
};
