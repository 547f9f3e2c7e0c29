import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/**
 * Code of users runs in their folders, and may exchange a file or folder for a link at any time. Only `src/paths/`
 * withstands that, so only it may go into such a folder. Every other file that opens, lists or changes anything by
 * path is named here, with the reason why no user can have put a link on that path.
 */
const allowed: readonly { readonly because: string; readonly files: readonly string[] }[] = [
  {
    because: 'it is the room that goes into folders safely',
    files: globSync('src/paths/*.ts', { cwd: join(import.meta.dirname, '../..') }),
  },
  {
    because: 'the data folder and what is in it belong to the server alone; runs do not see it',
    files: [
      'src/audit/chain.ts',
      'src/audit/files.ts',
      'src/audit/line.ts',
      'src/commands/audit-memory.ts',
      'src/commands/check.ts',
      'src/commands/doctor.ts',
      'src/commands/open-unlocked.ts',
      'src/crates/workers/index-file.ts',
      'src/server/crates.ts',
      'src/data-folder/data-folder.ts',
      'src/database/sqlite.ts',
      'src/data-folder/disk-ballast.ts',
      'src/data-folder/disk-reserve.ts',
      'src/egress/authority.ts',
      'src/executions/journal.ts',
      'src/sandbox/disk.ts',
      'src/sandbox/environments.ts',
      'src/sessions/log.ts',
      'src/sessions/saved-folder.ts',
      'src/server/last-backup.ts',
      'src/server/network.ts',
      'src/server/pack-target.ts',
      'src/server/startable.ts',
      'src/server/remembered-surroundings.ts',
      'src/server/server-address.ts',
      'src/server/server-id.ts',
      'src/storage/disk.ts',
      'src/storage/disk-open-files.ts',
      'src/storage/disk-staging.ts',
      'src/server/watched-paths.ts',
    ],
  },
  {
    because: 'the operator chose the file or program: settings, fonts, converters, what is installed',
    files: [
      'src/server/client-files.ts',
      'src/commands/build.ts',
      'src/commands/call.ts',
      'src/agent/save-links.ts',
      'src/agent/send-file.ts',
      'src/config/code-settings.ts',
      'src/commands/open-crate.ts',
      'src/config/env-file.ts',
      'src/config/file.ts',
      'src/database/migrate.ts',
      'src/documents/citations/styles.ts',
      'src/documents/confinement.ts',
      'src/documents/formats/drawing-thread.ts',
      'src/documents/pandoc/wasm.ts',
      'src/documents/pandoc/pandoc-process.ts',
      'src/documents/pandoc/system.ts',
      'src/documents/typst/compiler.ts',
      'src/documents/typst/fonts.ts',
      'src/documents/typst/typst.ts',
      'src/egress/secret-file.ts',
      'src/guard/rule-file.ts',
      'src/gateway/server-file.ts',
      'src/gateway/watch-file.ts',
      'src/packages/build.ts',
      'src/packages/configured.ts',
      'src/sandbox/bubblewrap/launch.ts',
      'src/sandbox/docker/container.ts',
      'src/sandbox/docker/supervisor.ts',
      'src/sandbox/subprocess/command.ts',
      'src/tool-search/route-file.ts',
      'src/tool-calls/tool-calls.ts',
      'src/version.ts',
    ],
  },
  {
    because: 'it asks the kernel: /proc, /sys and control groups',
    files: [
      'src/sandbox/bubblewrap/fork-server.ts',
      'src/sandbox/bubblewrap/leftovers.ts',
      'src/sandbox/bubblewrap/pipes.ts',
      'src/sandbox/cgroups/cgroups.ts',
      'src/sandbox/cgroups/group.ts',
      'src/sandbox/cgroups/processes.ts',
      'src/sandbox/cgroups/versions.ts',
      'src/sandbox/hard-limits.ts',
      'src/sandbox/subprocess/descendants.ts',
      'src/sandbox/unlinked.ts',
      'src/workers/oom-score.ts',
    ],
  },
  {
    because: 'a new folder with a random name, which no code has seen yet, or in which none runs',
    files: [
      'src/client-files/requests/filesystem-challenge.ts',
      'src/commands/doctor-sandbox.ts',
      'src/crates/pack/replay-workspace.ts',
      'src/sandbox/gate.ts',
      'src/sandbox/tool-files.ts',
      'src/sandbox/subprocess/folders.ts',
    ],
  },
  {
    because: "the folders of a user themselves: what is above them is the server's, so they are no links",
    files: ['src/packages/store.ts', 'src/workspaces/workspaces.ts'],
  },
  {
    because: 'the run has no walls and its own uid: it can go itself wherever a link could lead it',
    files: ['src/sandbox/subprocess.ts', 'src/sandbox/subprocess/interpreter.ts'],
  },
  {
    because: 'a source of crates belongs to the operator; only its own folder is named, or made durable',
    files: ['src/crates/sources/folder-put.ts', 'src/crates/sources/address.ts'],
  },
  {
    because: 'it asks where links lead and opens nothing: `paths/` opens what was found, and follows none',
    files: ['src/client-files/requests/direct.ts', 'src/client-files/requests/direct.ts'],
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
const sources = globSync('src/**/*.ts', { cwd: root }).filter(
  (file) => !/\.(test|testing|contract)\.ts$/.test(file),
);
/** Its text holds a program for the sandbox, and the program's own `require`. */
const programs = new Set(['src/sandbox/drivers.ts', 'src/server/missing-packages.ts']);

test('only `paths/` and the files named here go anywhere by path', () => {
  const listed = new Set(allowed.flatMap(({ files }) => files));
  const found = sources.filter(
    (file) => !programs.has(file) && findPathFunctions(readFileSync(join(root, file), 'utf8')).length > 0,
  );
  assert.deepEqual(
    found.filter((file) => !listed.has(file)),
    [],
    'go through paths/, or name the file with a reason',
  );
  const stale = [...listed].filter((file) => !file.startsWith('src/paths/') && !found.includes(file));
  assert.deepEqual(stale, [], 'these need no reason any more');
});

test('rooms that work in the folders of users have none of it', () => {
  const rooms = ['src/executions/', 'src/artifacts/', 'src/files/'];
  const journal = new Set(
    ['journal', 'journal-files', 'line-files'].map((name) => `src/executions/${name}.ts`),
  );
  const listed = allowed.flatMap(({ files }) => files).filter((file) => !journal.has(file));
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
