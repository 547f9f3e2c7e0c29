import { readImports } from './imports.ts';

/** What starts a server, a container or a sandbox. A test that imports one of these, by whichever way, is not quick. */
const starters = new Set([
  'test/code.testing.ts',
  'test/server.testing.ts',
  'test/behaviour/cli/program.testing.ts',
  'src/ports/database/postgres.testing.ts',
  'src/ports/sandbox/sandbox.contract.ts',
  'src/ports/sandbox/docker/engine.testing.ts',
  'src/ports/storage/azurite.testing.ts',
  'src/ports/storage/ceph.testing.ts',
]);

/** What takes more than some three seconds: races, floods, archives of gigabytes, processes that are ended, all formats. */
const slow = new Set([
  'src/core/artifacts/artifacts.test.ts',
  'src/core/artifacts/changes.test.ts',
  'src/core/audit/verify.test.ts',
  'src/platform/config/config.test.ts',
  'src/features/crates/index/many-entities.test.ts',
  'src/features/crates/sync/bounds.test.ts',
  'src/ports/database/sqlite-full-disk.test.ts',
  'src/features/documents/formats/formats.test.ts',
  'src/features/documents/formats/maths.test.ts',
  'src/features/documents/pandoc/converting.test.ts',
  'src/features/documents/pandoc/wasm.test.ts',
  'src/features/documents/typst/open.test.ts',
  'src/features/documents/typst/template.test.ts',
  'src/core/runs/flood.test.ts',
  'src/platform/paths/race.test.ts',
  'src/ports/sandbox/bubblewrap/leftovers.test.ts',
  'src/ports/storage/remote/client.test.ts',
  'src/platform/transfer/vanishing.test.ts',
  'src/platform/workers/helper-process.test.ts',
  'src/platform/zip/zip64.test.ts',
]);

/** What a change to any room can break, above all layers, contract and budgets: they are quick whatever they import. */
const projectTests = /^test\/project\/(?!quality|instructions|manifest)/;

/** Whether a test file starts no server, container or sandbox, and does not take long otherwise. */
export function isQuick(file: string): boolean {
  if (projectTests.test(file)) return true;
  if (!/^(?:src|packages)\//.test(file) || slow.has(file)) return false;
  const seen = new Set([file]);
  for (const path of seen) {
    if (starters.has(path)) return false;
    for (const imported of readImports(path).files) seen.add(imported);
  }
  return true;
}
