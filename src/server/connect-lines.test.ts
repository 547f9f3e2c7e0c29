import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordProof } from '../../test/requirements/requirements.testing.ts';
import { formatConnectLines } from './connect-lines.ts';

const findLine = (text: string, client: string): string =>
  new RegExp(`^  ${client}: +(.+)$`, 'm').exec(text)?.[1] ?? assert.fail(`${client} is not in ${text}`);

it('the start prints a link for each app that opens one, with the URL of this server', () => {
  const text = formatConnectLines('http://127.0.0.1:9180', null);
  const url = 'http://127.0.0.1:9180/mcp';
  const [install, entry] = findLine(text, 'VS Code').split('?');
  assert.equal(install, 'vscode:mcp/install');
  assert.deepEqual(JSON.parse(decodeURIComponent(entry!)), { name: 'workcrate', type: 'http', url });
  for (const [client, start] of [
    ['Cursor', 'cursor://anysphere.cursor-deeplink/mcp/install?'],
    ['LM Studio', 'lmstudio://add_mcp?'],
  ] as const) {
    const link = findLine(text, client);
    assert.ok(link.startsWith(start), link);
    const { searchParams } = new URL(link);
    assert.equal(searchParams.get('name'), 'workcrate');
    assert.deepEqual(JSON.parse(Buffer.from(searchParams.get('config')!, 'base64').toString()), { url });
  }
  recordProof('G4:deep-links');
});

it('Codex is told the line that lets it run code', () => {
  const text = formatConnectLines('http://127.0.0.1:9180', null);
  assert.match(
    text,
    /^ {2}Codex: +codex mcp add --url http:\/\/127\.0\.0\.1:9180\/mcp workcrate\n {17}.*: default_tools_approval_mode = "approve"$/m,
  );
});

it('with a key there are commands alone: in a link nobody could see or replace it', () => {
  const text = formatConnectLines('https://crate.example', 'YOUR_KEY');
  assert.doesNotMatch(text, /vscode:|cursor:|lmstudio:/);
  assert.match(findLine(text, 'VS Code'), /"Authorization":"Bearer YOUR_KEY"/);
  assert.match(findLine(text, 'Claude Code'), /--header "Authorization: Bearer YOUR_KEY"$/);
  assert.match(findLine(text, 'Codex'), /--bearer-token-env-var WORKCRATE_KEY workcrate$/);
});

it('no line is longer than four lines of a terminal', () => {
  for (const line of formatConnectLines('https://crate.example.org/base', null).split('\n'))
    assert.ok(line.length <= 320, line);
});
