import { readImports } from './imports.ts';

/** What starts a server, a container or a sandbox. A test that imports one of these, by whichever way, is not quick. */
const starters = new Set([
  'e2e/code.testing.ts',
  'e2e/server.testing.ts',
  'e2e/cli/program.testing.ts',
  'src/database/postgres.testing.ts',
  'src/sandbox/sandbox.contract.ts',
  'src/sandbox/docker/engine.testing.ts',
  'src/storage/azurite.testing.ts',
  'src/storage/ceph.testing.ts',
]);

/** What takes more than some three seconds: races, floods, archives of gigabytes, processes that are ended, all formats. */
const slow = new Set([
  'src/artifacts/artifacts.test.ts',
  'src/artifacts/changes.test.ts',
  'src/audit/verify.test.ts',
  'src/config/config.test.ts',
  'src/crates/index/many-entities.test.ts',
  'src/crates/sync/bounds.test.ts',
  'src/database/sqlite-full-disk.test.ts',
  'src/documents/formats/formats.test.ts',
  'src/documents/formats/maths.test.ts',
  'src/documents/pandoc/converting.test.ts',
  'src/documents/pandoc/wasm.test.ts',
  'src/documents/typst/open.test.ts',
  'src/documents/typst/template.test.ts',
  'src/executions/flood.test.ts',
  'src/paths/race.test.ts',
  'src/sandbox/bubblewrap/leftovers.test.ts',
  'src/storage/remote/client.test.ts',
  'src/transfer/vanishing.test.ts',
  'src/workers/helper-process.test.ts',
  'src/zip/zip64.test.ts',
]);

/** What a change to any room can break, above all layers, contract and budgets: they are quick whatever they import. */
const projectTests = /^e2e\/project\/(?!quality|instructions|manifest)/;

/** Whether a test file starts no server, container or sandbox, and does not take long otherwise. */
export function isQuick(file: string): boolean {
  if (projectTests.test(file)) return true;
  if (!file.startsWith('src/') || slow.has(file)) return false;
  const seen = new Set([file]);
  for (const path of seen) {
    if (starters.has(path)) return false;
    for (const imported of readImports(path).files) seen.add(imported);
  }
  return true;
}
