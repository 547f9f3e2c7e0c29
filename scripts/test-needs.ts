import { existsSync, readFileSync } from 'node:fs';
import { isTestFile, readImports } from './imports.ts';

/**
 * What the chosen test files need of the machine, read from them and from the test code that they import, so that a
 * subset neither installs nor starts anything for the others.
 */
export interface Needs {
  /** Commands and modules of Python that `system-packages.sh` knows the package of. */
  readonly commands: readonly string[];
  readonly ceph: boolean;
  readonly azurite: boolean;
  readonly postgres: boolean;
  readonly docker: boolean;
  /** Real MCP clients, which npm installs outside the repository. */
  readonly clients: boolean;
  /** Whether code can be run, which takes a moment to find out. */
  readonly sandbox: boolean;
}

/** As a word of its own in quotes, or at the end of a path: a command, and no prose. */
const named = (command: string): RegExp => new RegExp(`['"\`/]${command}['"\`]`);

const code =
  /'execute_code'|'bubblewrap'|from '.*(?:doctor-sandbox|bubblewrap|sandbox\/open|confinement)[\w/-]*\.ts'/;

/** Tests that use libraries of Python ask there whether these are installed. */
const science = /from '[\w./-]*\/science\.testing\.ts'/;

/** How test code names what it starts. Whatever a sandbox is made of comes with it. */
const traces: Readonly<Record<string, readonly RegExp[]>> = {
  bwrap: [named('bwrap'), code],
  python3: [named('python3'), code],
  setpriv: [named('setpriv'), code],
  unshare: [named('unshare'), code],
  mount: [named('mount'), code],
  pip: [/from '[\w./-]*packages(?:\/room\.testing|\.contract)\.ts'/],
  dockerd: [named('dockerd')],
  strace: [named('strace')],
  'ceph-mon': [named('ceph-mon')],
  'ceph-osd': [named('ceph-osd')],
  radosgw: [named('radosgw')],
  pg_ctlcluster: [/\/usr\/lib\/postgresql\/15\b/],
  nginx: [named('nginx')],
  prometheus: [named('prometheus')],
  sqlite3: [named('sqlite3')],
  openssl: [named('openssl')],
  nbformat: [named('import nbformat')],
  chromium: [named('chromium')],
  debootstrap: [named('debootstrap')],
  numpy: [science],
  pandas: [science],
  matplotlib: [science],
};

/** All that runs of users need, and nothing large. */
export const commandsOfSandbox = new Set(['bwrap', 'python3', 'setpriv', 'unshare', 'mount', 'pip']);

/** Of the round on PostgreSQL 15 and S3. */
export const commandsOfOtherBackends = ['ceph-mon', 'ceph-osd', 'radosgw', 'pg_ctlcluster'];

/** These name the commands without starting any: they put others in their place. */
const namesOnly = new Set(['test/behaviour/cli/system-packages.test.ts', 'test/project/test-needs.test.ts']);

export const starters = {
  ceph: 'src/ports/storage/ceph.testing.ts',
  azurite: 'src/ports/storage/azurite.testing.ts',
  postgres: 'src/ports/database/postgres.testing.ts',
  docker: 'src/ports/sandbox/docker/engine.testing.ts',
  clients: 'test/clients/packages.testing.ts',
  sandbox: 'test/code.testing.ts',
} as const;

/** Starts PostgreSQL only for a round that is about it. */
const startsWhatItIsTold = 'test/server.testing.ts';

export function findNeeds(files: readonly string[]): Needs {
  const all = collectTestCode(files, () => true);
  const own = collectTestCode(files, (file) => file !== startsWhatItIsTold);
  const texts = [...all].filter((file) => !namesOnly.has(file)).map((file) => readFileSync(file, 'utf8'));
  const isNamed = ([, forms]: [string, readonly RegExp[]]): boolean =>
    texts.some((text) => forms.some((form) => form.test(text)));
  return {
    commands: Object.entries(traces)
      .filter(isNamed)
      .map(([command]) => command),
    ceph: own.has(starters.ceph),
    azurite: own.has(starters.azurite),
    postgres: own.has(starters.postgres),
    docker: own.has(starters.docker),
    clients: own.has(starters.clients),
    sandbox: own.has(starters.sandbox),
  };
}

/** The files and the test code that they import. What the product could start is nothing that a test starts. */
function collectTestCode(files: readonly string[], isFollowed: (file: string) => boolean): Set<string> {
  const seen = new Set(files);
  for (const file of seen) {
    if (!isFollowed(file)) continue;
    for (const imported of readImports(file).files) if (isTestCode(imported)) seen.add(imported);
  }
  return seen;
}

/** Some text in a test only looks like an import. */
const isTestCode = (file: string): boolean =>
  (isTestFile(file) || !/^(?:src|packages)\//.test(file)) && existsSync(file);
