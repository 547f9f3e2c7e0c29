import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadConfig } from '../../server/settings.ts';
import { projectList } from './projects.ts';
import { scratchFile } from '../../platform/config/settings.testing.ts';

const one = [{ root: '/p', filesystem: { allowed_paths: ['docs', 'data'] } }];

it('a config file names projects in YAML, with one key or two, and prints them as it reads them', () => {
  using file = scratchFile();
  for (const text of [
    'projects:\n  - root: /p\n    filesystem: { allowed_paths: [docs, data] }\n',
    'projects:\n  - root: /p\n    filesystem.allowed_paths: docs, data\n',
    `projects: ${JSON.stringify(one)}\n`,
  ]) {
    file.write(text);
    assert.deepEqual(loadConfig({ config: file.path }, {}).config.projects, one, text);
  }
  assert.deepEqual(loadConfig({}, { WORKCRATE_PROJECTS: JSON.stringify(one) }).config.projects, one);
});

it('a list of projects that says too little or too much is refused', () => {
  for (const text of [
    'x',
    '{}',
    '[1]',
    '[{"root": "p", "filesystem": {"allowed_paths": []}}]',
    '[{"root": "/p"}]',
    '[{"root": "/p", "filesystem": {"allowed_paths": [1]}}]',
    '[{"root": "/p", "filesystem": {"allowed_paths": []}, "other": 1}]',
    '[{"root": "/p", "filesystem": {"allowed_paths": [], "other": 1}}]',
    '[{"root": "/p", "filesystem": {"allowed_paths": []}, "filesystem.allowed_paths": []}]',
  ])
    assert.throws(() => projectList.parse(text), text);
});

it('the two names of the allowed paths in one file are refused with the line', () => {
  using file = scratchFile();
  file.write('client_paths: [docs]\nfilesystem.allowed_paths: [data]\n');
  assert.throws(() => loadConfig({ config: file.path }, {}), {
    message: /, line 2: filesystem\.allowed_paths and client_paths are the same setting$/,
  });
});
