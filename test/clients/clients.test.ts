import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { noSandbox, useCodeServer } from '../code.testing.ts';
import { recordProof, type Part } from '../requirements/requirements.testing.ts';
import { callByInspector, listByInspector } from './inspector.testing.ts';
import { installClients } from './packages.testing.ts';
import { claudeCode, codex, geminiCli, opencode, type Place, type Program } from './programs.testing.ts';
import { checkRound, makeRound, toScript, runCode, shortRound, writeProject } from './round.testing.ts';
import { runClient } from './run-client.testing.ts';
import { connectOldClient } from './sdk-v1.testing.ts';

const found = await installClients();
const packages = 'folder' in found ? found.folder : '';
const skip = 'reason' in found ? found.reason : noSandbox;

/** The one that takes longest goes first. */
const programs: readonly (readonly [Program, Part])[] = [
  [opencode, 'G5:opencode'],
  [claudeCode, 'G5:claude-code'],
  [codex, 'G5:codex'],
  [geminiCli, 'G5:gemini-cli'],
];

const startedByClient: Place = {
  command: process.execPath,
  args: [
    join(import.meta.dirname, '../../bin/workcrate.js'),
    'stdio',
    '--warm-python',
    '1',
    '--warm-node',
    '0',
    '--warm-bash',
    '0',
  ],
};

/** Several at a time: most of what a client does at its start is waiting. */
describe('real clients', { concurrency: 4 }, () => {
  const server = skip === false ? useCodeServer({ warmPython: 2 }) : null;
  const place = (query = ''): { url: string } => ({ url: `${server!().url}/mcp${query}` });

  for (const [program, part] of programs) {
    const why = skip || program.missing(packages);
    it(`${program.title}: text, link, picture and a file of the client arrive`, { skip: why }, async () => {
      const round = makeRound(program.title);
      const finished = await runClient(program, packages, place(), toScript(round), writeProject);
      checkRound(finished, round);
      assert.deepEqual(finished.outside, []);
      recordProof(part);
    });

    it(`${program.title}, over stdio: the text arrives`, { skip: why }, async () => {
      const finished = await runClient(program, packages, startedByClient, toScript(shortRound));
      checkRound(finished, shortRound);
      assert.deepEqual(finished.outside, []);
    });
  }

  it('Inspector: no schema has an error, the text arrives, over HTTP and stdio', { skip }, async () => {
    const { errors } = await listByInspector(packages, place());
    assert.equal(errors, 0);
    for (const at of [place(), startedByClient]) {
      const result = await callByInspector(packages, at, runCode.tool, runCode.input);
      assert.match(result.content[0]!.text, /^42\n/);
      assert.equal(result.structuredContent, undefined);
    }
    const { structuredContent } = await callByInspector(
      packages,
      place('?structured=1'),
      runCode.tool,
      runCode.input,
    );
    assert.equal(structuredContent?.['stdout'], '42\n');
    recordProof('G5:inspector');
  });

  it('SDK v1: the text arrives, and structure where it is asked for', { skip }, async () => {
    for (const query of ['', '?structured=1']) {
      await using client = await connectOldClient(packages, place(query).url);
      // It checks results against the schemas that it has listed.
      await client.listTools();
      const result = await client.callTool({ name: runCode.tool, arguments: runCode.input });
      assert.match(result.content[0]!.text, /^42\n/);
      assert.equal(result.structuredContent?.['stdout'], query === '' ? undefined : '42\n');
    }
    recordProof('G5:sdk-v1');
  });
});
