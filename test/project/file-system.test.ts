import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/**
 * Code of users runs in their folders, and may exchange a file or folder for a link at any time. Only `src/platform/paths/`
 * withstands that, so only it may go into such a folder. Every other file that opens, lists or changes anything by
 * path is named here, with the reason why no user can have put a link on that path.
 */
const allowed: readonly { readonly because: string; readonly files: readonly string[] }[] = [
  {
    because: 'it is the room that goes into folders safely',
    files: globSync('src/platform/paths/*.ts', { cwd: join(import.meta.dirname, '../..') }),
  },
  {
    because: 'the data folder and what is in it belong to the server alone; runs do not see it',
    files: [
      'src/core/audit/chain.ts',
      'src/core/audit/files.ts',
      'src/core/audit/line.ts',
      'src/cli/audit-memory.ts',
      'src/cli/check.ts',
      'src/cli/doctor.ts',
      'src/cli/open-unlocked.ts',
      'src/features/crates/workers/index-file.ts',
      'src/features/crates/open.ts',
      'src/platform/data-folder/data-folder.ts',
      'src/ports/database/sqlite.ts',
      'src/platform/data-folder/disk-ballast.ts',
      'src/platform/data-folder/disk-reserve.ts',
      'src/features/network/authority.ts',
      'src/core/runs/journal.ts',
      'src/ports/sandbox/disk.ts',
      'src/ports/sandbox/environments.ts',
      'src/core/runs/sessions/log.ts',
      'src/core/runs/sessions/saved-folder.ts',
      'src/server/last-backup.ts',
      'src/server/network.ts',
      'src/features/crates/pack-target.ts',
      'src/server/startable.ts',
      'src/server/remembered-surroundings.ts',
      'src/server/server-address.ts',
      'src/server/server-id.ts',
      'src/ports/storage/disk.ts',
      'src/ports/storage/disk-open-files.ts',
      'src/ports/storage/disk-staging.ts',
      'src/server/watched-paths.ts',
    ],
  },
  {
    because: 'the operator chose the file or program: settings, fonts, converters, what is installed',
    files: [
      'src/features/client-files/open.ts',
      'src/cli/build.ts',
      'src/cli/call.ts',
      'packages/ask/save-links.ts',
      'packages/ask/send-file.ts',
      'src/platform/config/code-settings.ts',
      'src/features/packages/settings.ts',
      'src/features/skills/documentation.ts',
      'src/cli/open-crate.ts',
      'src/platform/config/env-file.ts',
      'src/platform/config/file.ts',
      'src/ports/database/migrate.ts',
      'src/features/documents/citations/styles.ts',
      'src/features/documents/confinement.ts',
      'src/features/documents/formats/drawing-thread.ts',
      'src/features/documents/pandoc/wasm.ts',
      'src/features/documents/pandoc/pandoc-process.ts',
      'src/features/documents/pandoc/system.ts',
      'src/features/documents/typst/compiler.ts',
      'src/features/documents/typst/fonts.ts',
      'src/features/documents/typst/typst.ts',
      'src/features/network/secret-file.ts',
      'src/features/guard/rule-file.ts',
      'src/features/gateway/server-file.ts',
      'src/features/packages/build.ts',
      'src/features/packages/configured.ts',
      'src/ports/sandbox/bubblewrap/launch.ts',
      'src/ports/sandbox/docker/container.ts',
      'src/ports/sandbox/docker/supervisor.ts',
      'src/ports/sandbox/subprocess/command.ts',
      'src/features/tool-search/route-file.ts',
      'src/features/tool-search/words.ts',
      'src/features/code-mode/tool-calls.ts',
      'src/platform/version.ts',
      'src/platform/html/browser-script.ts',
    ],
  },
  {
    because: 'it asks the kernel: /proc, /sys and control groups',
    files: [
      'src/ports/sandbox/bubblewrap/fork-server.ts',
      'src/ports/sandbox/bubblewrap/leftovers.ts',
      'src/ports/sandbox/bubblewrap/pipes.ts',
      'src/ports/sandbox/cgroups/cgroups.ts',
      'src/ports/sandbox/cgroups/group.ts',
      'src/ports/sandbox/cgroups/processes.ts',
      'src/ports/sandbox/cgroups/versions.ts',
      'src/ports/sandbox/hard-limits.ts',
      'src/ports/sandbox/subprocess/descendants.ts',
      'src/ports/sandbox/unlinked.ts',
      'src/platform/workers/oom-score.ts',
    ],
  },
  {
    because: 'a new folder with a random name, which no code has seen yet, or in which none runs',
    files: [
      'src/features/client-files/requests/filesystem-challenge.ts',
      'src/cli/doctor-sandbox.ts',
      'src/features/packing/replay-workspace.ts',
      'src/ports/sandbox/gate.ts',
      'src/ports/sandbox/tool-files.ts',
      'src/ports/sandbox/subprocess/folders.ts',
    ],
  },
  {
    because: "the folders of a user themselves: what is above them is the server's, so they are no links",
    files: ['src/features/packages/store.ts', 'src/core/workspaces/workspaces.ts'],
  },
  {
    because: 'the run has no walls and its own uid: it can go itself wherever a link could lead it',
    files: ['src/ports/sandbox/subprocess.ts', 'src/ports/sandbox/subprocess/interpreter.ts'],
  },
  {
    because: 'a source of crates belongs to the operator; only its own folder is named, or made durable',
    files: ['src/features/crates/sources/folder-put.ts', 'src/features/crates/sources/address.ts'],
  },
  {
    because:
      'it asks where links lead and opens nothing: `platform/paths/` opens what was found, and follows none',
    files: ['src/features/client-files/requests/direct.ts', 'src/features/client-files/requests/direct.ts'],
  },
];

/** These take a descriptor, or say something of the whole file system. All others take a path. */
const harmless = new Set(
  'constants close closeSync fchmodSync fchownSync fdatasync fdatasyncSync fstatSync fsync ftruncateSync read readSync statfs statfsSync write writeSync'.split(
    ' ',
  ),
);

/** What a source file has of `node:fs` that takes a path. An import that hides what is used counts as everything. */
function findPathFunctions(source: string): string[] {
  const named = [...source.matchAll(/import\s+\{([^}]*)\}\s+from\s+'(?:node:)?fs(?:\/promises)?'/g)];
  const names = named.flatMap(([, list]) => list!.split(',').map((name) => name.trim()));
  const values = names.filter((name) => name !== '' && !name.startsWith('type '));
  const found = values.map((name) => name.split(' as ')[0]!).filter((name) => !harmless.has(name));
  const typeOnly = /import\s+type\s[^;]*?'(?:node:)?fs(?:\/promises)?'/g;
  const mentions =
    source.replace(typeOnly, '').match(/(?:from|\()\s*['"`](?:node:)?fs(?:\/promises)?['"`]/g) ?? [];
  return mentions.length > named.length ? [...found, '*'] : found;
}

const root = join(import.meta.dirname, '../..');
const sources = globSync('{src,packages}/**/*.ts', { cwd: root }).filter(
  (file) => !/\.(test|testing|contract)\.ts$/.test(file),
);
/** Its text holds a program for the sandbox, and the program's own `require`. */
const programs = new Set(['src/ports/sandbox/drivers.ts', 'src/server/missing-packages.ts']);

test('only `platform/paths/` and the files named here go anywhere by path', () => {
  const listed = new Set(allowed.flatMap(({ files }) => files));
  const found = sources.filter(
    (file) => !programs.has(file) && findPathFunctions(readFileSync(join(root, file), 'utf8')).length > 0,
  );
  assert.deepEqual(
    found.filter((file) => !listed.has(file)),
    [],
    'go through paths/, or name the file with a reason',
  );
  const stale = [...listed].filter(
    (file) => !file.startsWith('src/platform/paths/') && !found.includes(file),
  );
  assert.deepEqual(stale, [], 'these need no reason any more');
});

test('rooms that work in the folders of users have none of it', () => {
  const rooms = ['src/core/runs/', 'src/core/artifacts/', 'src/core/files/'];
  // Sessions are in the room of runs; their logs and checkpoints are in the data folder.
  const others = new Set(
    ['journal', 'sessions/log', 'sessions/saved-folder'].map((name) => `src/core/runs/${name}.ts`),
  );
  const listed = allowed.flatMap(({ files }) => files).filter((file) => !others.has(file));
  assert.deepEqual(
    listed.filter((file) => rooms.some((room) => file.startsWith(room))),
    [],
  );
});

test('an import that was planted is found, however it is written', () => {
  const cases: [string, string[]][] = [
    [`import { openSync } from 'node:fs';`, ['openSync']],
    [`import { closeSync, opendir as o } from 'node:fs/promises';`, ['opendir']],
    [`import {\n  type Stats,\n  mkdirSync,\n} from 'node:fs';`, ['mkdirSync']],
    [`import { readFile } from 'fs/promises';`, ['readFile']],
    [`import * as fs from 'node:fs';`, ['*']],
    [`import fs from 'node:fs';`, ['*']],
    [`const fs = await import('node:fs/promises');`, ['*']],
    [`const fs = process.getBuiltinModule('fs');`, ['*']],
    [`const fs = require("node:fs");`, ['*']],
    [`import fs, { openSync } from 'node:fs';`, ['*']],
    [`export { openSync } from 'node:fs';`, ['*']],
    [`import { fstatSync, read, type Stats } from 'node:fs';`, []],
    [`import type { FileHandle } from 'node:fs/promises';`, []],
  ];
  for (const [source, expected] of cases) assert.deepEqual(findPathFunctions(source), expected, source);
});
