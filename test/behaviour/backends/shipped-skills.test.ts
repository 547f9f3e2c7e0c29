/** Runs every block of code in the skills that come with Workcrate, as an agent that follows them would. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { shippedSkillsFolder } from '../../../src/features/skills/skills.ts';
import { noSandbox, useCodeServer } from '../../code.testing.ts';
import { upload, type ToolReply } from '../../server.testing.ts';

const sales = 'region,total,note\nNorth,10.5,a\nSouth,20,\nNorth,,c\nSouth,1.5,d\n';

interface Block {
  readonly kind: string;
  readonly code: string;
  /** The tool that the text before it says to call. */
  readonly tool: string | null;
}

/** Fenced blocks, each with the last "Call `tool`" or "call `tool`" since the one before. */
function readBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let end = 0;
  for (const match of text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)) {
    const before = text.slice(end, match.index);
    const tool = [...before.matchAll(/\b[Cc]all `(\w+)`/g)].at(-1)?.[1] ?? null;
    blocks.push({ kind: match[1]!, code: match[2]!, tool });
    end = match.index + match[0].length;
  }
  return blocks;
}

/** The reference pages are read where the skill says so: after its own steps, in the same session. */
const filesOf = (skill: string): string[] => [
  join(shippedSkillsFolder, skill, 'SKILL.md'),
  ...globSync('references/*.md', { cwd: join(shippedSkillsFolder, skill) })
    .toSorted()
    .map((file) => join(shippedSkillsFolder, skill, file)),
];

function hasPandas(): boolean {
  try {
    execFileSync('/usr/bin/python3', ['-c', 'import pandas'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('the skills that come with Workcrate', { skip: noSandbox }, () => {
  const server = useCodeServer({ tools: ['default'] });
  /** What the words in capitals stand for. */
  const known: Record<string, string> = {};

  async function runBlock({ kind, code, tool }: Block, where: string): Promise<void> {
    const isCall = kind === 'json';
    assert.ok(isCall || kind === 'python', `${where}: a block of ${kind || 'nothing'} is run by nobody`);
    assert.ok(!isCall || tool !== null, `${where}: no tool is named before\n${code}`);
    const filled = code.replaceAll(/\b(?:FILE_ID|EXECUTION_ID|CRATE_ID|CRATE_PATH)\b/g, (name) => {
      assert.ok(known[name] !== undefined, `${where}: nothing gave ${name} before`);
      return known[name];
    });
    const called = isCall ? tool! : 'execute_code';
    const input = isCall
      ? (JSON.parse(filled) as Record<string, unknown>)
      : { language: 'python', session_id: 'analysis', code: filled };
    const reply = await server().call(called, input);
    demandGood(reply, `${where}: ${called}`);
    remember(called, reply.data);
  }

  function demandGood({ failed, text, data }: ToolReply, where: string): void {
    assert.equal(failed, false, `${where}: ${text}`);
    if ('exit_code' in data) assert.equal(data.exit_code, 0, `${where}: ${text}`);
    if ('artifacts' in data && 'instructions' in data) assert.deepEqual(data.failures ?? [], [], text);
    if ('missing' in data) assert.deepEqual(data.missing, [], text);
  }

  function remember(tool: string, data: ToolReply['data']): void {
    if (tool === 'execute_code') known['EXECUTION_ID'] = data.execution_id;
    if (tool === 'pack_crate') known['CRATE_ID'] = data.crate_id;
    if (tool === 'search_index') known['CRATE_ID'] = data.results[0].crate_id;
    if (tool === 'list_crate_files')
      known['CRATE_PATH'] = data.files.find(({ path }: { path: string }) =>
        path.endsWith('estimate.json'),
      ).path;
  }

  it('have blocks of code that all run, one after the other, and give what they say', async () => {
    known['FILE_ID'] = await upload(server(), 'sales.csv', sales);
    // The last one finds what the third has packed.
    for (const skill of ['analyse-data', 'write-report', 'make-reproducible', 'find-and-reuse-crate'])
      for (const file of filesOf(skill)) {
        const blocks = readBlocks(readFileSync(file, 'utf8'));
        assert.ok(blocks.length > 0, file);
        if (file.endsWith('with-pandas.md') && !hasPandas()) continue;
        for (const block of blocks) await runBlock(block, file);
      }
    const { data } = await server().call('list_artifacts', {});
    const made = ['estimate.json', 'sine.svg', 'totals.csv', 'totals.svg'];
    assert.deepEqual(
      data.artifacts.filter((name: string) => made.includes(name)),
      made,
    );
    const totals = await server().call('execute_bash', { command: 'cat /artifacts/totals.csv' });
    assert.equal(totals.data.stdout.replaceAll('\r', ''), 'region,total\nNorth,10.5\nSouth,21.5\n');
    recordProof('A12:code-of-shipped-skills-runs');
  });

  it('name only tools that are there, and files that they have', async () => {
    const { tools } = await server().client.listTools();
    const names = new Set(tools.map(({ name }) => name));
    for (const skill of ['analyse-data', 'write-report', 'make-reproducible', 'find-and-reuse-crate'])
      for (const file of filesOf(skill)) {
        const text = readFileSync(file, 'utf8').replaceAll(/^```[^]*?^```$/gm, '');
        const named = [...text.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, name]) => name!);
        const fields = new Set(
          'crate_files client_files execution_id execution_ids session_id crate_id file_id'.split(' '),
        );
        for (const name of named) assert.ok(names.has(name) || fields.has(name), `${file}: ${name}`);
        for (const [, path] of text.matchAll(/`(references\/[\w.-]+)`/g))
          assert.ok(
            filesOf(skill).some((one) => one.endsWith(path!)),
            `${file}: ${path}`,
          );
      }
  });
});
