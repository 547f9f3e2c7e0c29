import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { noSandbox, useCodeServer } from '../code.testing.ts';
import type { Received, Script } from './conversation.testing.ts';
import { installClients } from './packages.testing.ts';
import { claudeCode, codex, geminiCli, type Place } from './programs.testing.ts';
import { runClient } from './run-client.testing.ts';

const found = await installClients();
const packages = 'folder' in found ? found.folder : '';
const skip = 'reason' in found ? found.reason : noSandbox;

/** A project whose program a test edits, as an agent does between two runs. */
function createProject() {
  let folder = '';
  const edit = (version: number): void =>
    writeFileSync(join(folder, 'docs/job.sh'), `echo this is version ${version}\n`);
  return {
    edit,
    make(at: string): void {
      folder = at;
      mkdirSync(join(folder, 'docs'));
      edit(1);
    },
  };
}

const run = {
  tool: 'execute_code',
  input: { language: 'bash', code: 'bash job.sh', client_files: [{ path: 'docs/job.sh' }] },
};
const list = { tool: 'list_client_directory', input: { path: 'docs' } };

/** The offered command, as it is. Gemini CLI shows its model errors as JSON, without lines. */
const runOffered = (offer: Received | null) => ({
  shell: /test [!-][^]*?curl [^]*?\/uploads\/[\w-]+'/.exec(offer!.text)?.[0] ?? 'false',
});

describe('files of the client in real clients', { concurrency: 4 }, () => {
  const server = skip === false ? useCodeServer({ warmPython: 0, warmBash: 2 }) : null;

  for (const program of [claudeCode, codex, geminiCli]) {
    const why = skip || program.missing(packages);
    it(
      `${program.title} sends what it edited by the offered command, and runs that`,
      { skip: why },
      async () => {
        const project = createProject();
        const script: Script = [
          () => run,
          runOffered,
          () => run,
          () => (project.edit(2), run),
          runOffered,
          () => run,
          () => list,
          runOffered,
          () => list,
        ];
        const place = { url: `${server!().url}/mcp` };
        const { received, output } = await runClient(program, packages, place, script, project.make);
        const texts = received.map(({ text }) => text);
        assert.match(texts[2] ?? output, /this is version 1\n/, texts.join('\n---\n'));
        assert.match(texts[5] ?? output, /this is version 2\n/, texts.join('\n---\n'));
        assert.match(texts[5]!, /From the client: docs\/job\.sh, sent by your shell/);
        assert.match(texts[8] ?? output, /job\.sh {2}\d+ bytes/, texts.join('\n---\n'));
      },
    );
  }

  const startedByClient: Place = {
    command: process.execPath,
    args: [join(import.meta.dirname, '../../bin/workcrate.js'), 'stdio', '--sandbox', 'off'],
  };
  const whyNot = skip || codex.missing(packages);
  it('Codex, which tells no roots, has its files read in place over stdio', { skip: whyNot }, async () => {
    const project = createProject();
    const read = { tool: 'read_client_file', input: { path: 'docs/job.sh' } };
    const script: Script = [() => read, () => (project.edit(2), read)];
    const { received, output } = await runClient(codex, packages, startedByClient, script, project.make);
    assert.match(received[0]?.text ?? output, /read in place at [^]*version 1/);
    assert.match(received[1]?.text ?? output, /read in place at [^]*version 2/);
  });
});
