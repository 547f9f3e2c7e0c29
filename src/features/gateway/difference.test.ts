import assert from 'node:assert/strict';
import { it } from 'node:test';
import { describeDifference } from './difference.ts';
import { findByPrefix, toOfferedName } from './names.ts';

it('shows the lines that were removed and added, and nothing that could pass for a line of ours', () => {
  const before = JSON.stringify({ name: 'a', description: 'Reads.', inputSchema: { type: 'object' } });
  const after = JSON.stringify({
    name: 'a',
    description: 'Reads.\n+ \u001B[2Jall',
    inputSchema: { type: 'object' },
  });
  const lines = describeDifference(before, after).split('\n');
  assert.deepEqual(
    lines.filter((line) => line.startsWith('-')),
    ['-   "description": "Reads.",'],
  );
  assert.ok(lines.every((line) => /^[-+ ] /.test(line)));
  assert.ok(!lines.join('').includes('\u001B'));
});

it('names that do not fit are told apart by a hash, and the longest prefix owns a name', () => {
  assert.equal(toOfferedName('a', 'b_c'), 'a_b_c');
  assert.notEqual(toOfferedName('a', 'b c'), toOfferedName('a', 'b.c'));
  assert.equal(toOfferedName('a', 'x'.repeat(300)).length, 64);
  const entries = [{ name: 'git' }, { name: 'git_hub' }];
  assert.equal(findByPrefix(entries, 'git_hub_go')!.name, 'git_hub');
  assert.equal(findByPrefix(entries, 'git_go')!.name, 'git');
  assert.equal(findByPrefix(entries, 'github_go'), null);
});
