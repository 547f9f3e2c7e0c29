/**
 * The layers and the doors of `src/`, as data; `check-layers.testing.ts` says what they mean. A name is a folder, or
 * a file that is a room by itself. Bottom layer first: a room imports lower layers, and never its own.
 */
export const layers: Readonly<Record<string, readonly (readonly string[])[]>> = {
  '': [
    ['errors.ts', 'clock.ts', 'identity.ts', 'secrets.ts', 'request-id.ts', 'version.ts', 'filenames.ts'],
    ['edit-distance.ts', 'program.ts', 'streams.ts', 'text.ts'],
    ['concurrency'],
    ['log.ts', 'glob.ts', 'folder-owner.ts', 'make-folder.ts', 'disk-reserve.ts', 'turns.ts'],
    ['watched-paths.ts', 'server-address.ts', 'data-folder.ts', 'disk-ballast.ts', 'tracing.ts', 'net'],
    ['paths', 'database', 'storage', 'zip', 'unzip', 'threads', 'config', 'observability'],
    ['config.ts', 'metrics.ts', 'trusted-clock.ts', 'server-id.ts', 'sandbox'],
    ['places', 'mcp', 'transfer'],
    ['files', 'users'],
    ['web'],
    ['links'],
    ['audit'],
    ['artifacts', 'executions', 'bridge'],
    ['crates', 'documents'],
    ['seeing'],
    ['server', 'ground.ts', 'stores.ts', 'link-base.ts', 'draining.ts', 'status.ts', 'sweeper.ts'],
    ['crating.ts', 'documenting.ts', 'running.ts', 'seeing.ts'],
    ['keeping.ts'],
    ['bridging.ts'],
    ['serving.ts'],
    ['workcrate.ts'],
    ['commands'],
    ['cli.ts'],
  ],
  storage: [['remote'], ['s3', 'azure', 'disk.ts', 'memory.ts'], ['open.ts', 'open-source.ts']],
  sandbox: [['cgroups', 'seccomp'], ['bubblewrap', 'docker', 'subprocess'], ['open.ts']],
  crates: [
    ['text', 'metadata', 'pack', 'sources'],
    ['query'],
    ['index'],
    ['inside', 'semantic'],
    ['sync'],
    ['threads', 'tools'],
  ],
  documents: [
    ['syntax', 'pandoc', 'typst', 'zotero'],
    ['citations', 'formats'],
    ['composing', 'tools'],
  ],
  bridge: [['text', 'policy'], ['cache'], ['ladder'], ['page', 'tools']],
  mcp: [['stdio']],
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
  artifacts: { assembly: 'changes route tools', only: { crates: 'changes' } },
  audit: {
    assembly:
      'audited-downloads audited-requests audited-tool audited-transfers escape file-names memory moments open refused-calls remarks remembered run-lines search text tools verify',
  },
  bridge: { assembly: 'cache/cache policy/policy route tools' },
  'bridge/cache': { all: 'cache tools' },
  'bridge/ladder': {
    all: 'ladder approach awaited by-user errand listing listing-text noting proofs reading',
  },
  'bridge/text': { all: 'base64 decode encode names no-text' },
  'bridge/tools': { all: 'listing reading' },
  commands: { all: '', assembly: '*' },
  concurrency: { all: '*' },
  config: { all: '', only: { 'config.ts': '*' } },
  crates: {
    assembly:
      'metadata/metadata pack/pack pack/replay sources/address sources/folder-leftovers sources/lasting-name sources/open sources/sources tools tools/shown',
  },
  'crates/index': { all: 'ranking reading writing' },
  'crates/inside': { all: 'inside reference' },
  'crates/metadata': { all: 'metadata summary' },
  'crates/pack': { all: 'pack archive' },
  'crates/query': { all: 'query facets filters parse text-fields' },
  'crates/sync': { all: 'sync keeper read-crate watched' },
  'crates/text': { all: 'words' },
  'crates/threads': { all: 'indexing lost-index searching settings' },
  'crates/tools': { all: 'finding hide-folders inside making' },
  database: { assembly: 'open', only: { 'crates/threads': 'open' } },
  documents: { assembly: 'composing/open syntax/syntax tools typst/fonts zotero/library zotero/zotero' },
  'documents/citations': { all: 'bibliography cite styles validate' },
  'documents/composing': { all: 'open read write' },
  'documents/pandoc': { all: 'pandoc', only: { 'documents/composing': 'open' } },
  'documents/syntax': { all: 'syntax ast page-breaks rewrite svg' },
  'documents/tools': { all: 'building validating' },
  'documents/typst': { all: 'typst glyphs template', only: { 'documents/composing': 'open' } },
  'documents/zotero': { all: 'library tools' },
  executions: { assembly: 'given-files inputs route shown tools', only: { seeing: 'counts' } },
  files: { assembly: 'local-files store-id tools verify', only: { links: 'local-files' } },
  links: {
    all: 'links link-result',
    assembly: 'download-route end-rights hand-over open-uploads tools upload-route',
    only: { audit: 'download-route link tokens', seeing: 'counts' },
  },
  mcp: {
    all: 'tool',
    assembly: 'http request-state server stdio/transport',
    only: { audit: 'refused', web: 'http' },
  },
  net: { all: '*' },
  observability: { all: '', only: { 'metrics.ts': '*' } },
  sandbox: { assembly: 'open' },
  'sandbox/cgroups': { all: 'cgroups names processes' },
  'sandbox/subprocess': { all: 'command descendants ground pipes' },
  seeing: { all: '', assembly: 'counts crates database documents links runs storage usage-by-user users' },
  server: { all: '', assembly: 'tools' },
  storage: { assembly: 'open source', only: { crates: 'open-source source' } },
  'storage/azure': { all: 'azure', only: { 'storage/open-source.ts': 'source' } },
  'storage/s3': { all: 's3', only: { 'storage/open-source.ts': 'source' } },
  threads: { all: 'threads inside' },
  users: {
    assembly: 'expiry issuer issuer-url keys names open remove scopes',
    only: { seeing: 'counts' },
  },
  web: {
    all: 'answer',
    assembly: 'app client-address gate guess-limit openapi port resource server status-route trusted-names',
  },
};

/** Packages and modules that only some rooms may use, whatever their layer. */
export const packages: Readonly<Record<string, string>> = {
  '@bjorn3/browser_wasi_shim': 'documents/pandoc',
  '@hono/node-server': 'web',
  '@modelcontextprotocol/server/stdio': 'commands',
  '@myriaddreamin/typst-ts-node-compiler': 'documents/typst',
  '@opentelemetry/api': 'tracing.ts',
  '@prometheus-io/client': 'metrics.ts observability',
  '@resvg/resvg-wasm': 'documents/formats',
  aws4fetch: 'storage/s3',
  'content-disposition': 'links',
  jose: 'users',
  'mime-types': 'files',
  'node:child_process': 'sandbox threads documents paths/remove-tree.ts',
  'node:ffi': 'transfer',
  'node:sqlite': 'database data-folder.ts',
  'node:worker_threads': 'threads crates/threads documents/pandoc',
  pg: 'database',
  stemmer: 'crates/text',
  yaml: 'config',
};
