import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTools } from './tools.testing.ts';

const png = '\\x89PNG\\r\\n\\x1a\\n and more';
const draw = (path: string): string => `printf '${png}' > ${path}`;

const pictures = ({ content }: { content: { type: string }[] }) =>
  content.filter(({ type }) => type === 'image');

test('a run shows the pictures that it made, in /artifacts and in its folder, where that is asked for', async () => {
  await using tools = await openTools();
  const code = `${draw('"$ARTIFACTS/plot.PNG"')}; mkdir deep; ${draw('deep/second.png')}; echo text > notes.txt`;
  const plain = await tools.call('execute_code', { language: 'bash', code });
  assert.deepEqual(pictures(plain.result), []);
  const shown = await tools.call('execute_code', { language: 'bash', code, show: true });
  const data = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1').toString('base64');
  const picture = { type: 'image', data, mimeType: 'image/png' };
  assert.deepEqual(pictures(shown.result), [picture, picture]);
  assert.doesNotMatch(shown.text, /Not shown/);
  const bash = await tools.call('execute_bash', { command: draw('third.png'), show: true });
  assert.deepEqual(pictures(bash.result), [picture]);
});

test('what is not shown is named with the reason', async () => {
  await using tools = await openTools();
  const none = await tools.call('execute_bash', { command: 'echo 1 > a.txt', show: true });
  assert.match(none.text, /^Not shown: the run made no picture file\.$/m);
  const command = [
    'echo "no picture" > false.png',
    'head -c 1048577 /dev/zero > large.gif',
    'echo other > secret; ln secret .hidden.png',
    'for i in 1 2 3 4 5; do cp false.png "more $i, or so.png"; done',
  ];
  const { text, result } = await tools.call('execute_bash', { command: command.join('\n'), show: true });
  assert.deepEqual(pictures(result), []);
  assert.match(text, /^Not shown: \/workspace\/\.hidden\.png, since it cannot be read any more\.$/m);
  assert.match(text, /^Not shown: \/workspace\/false\.png, since it is not a PNG, JPEG, GIF or WebP\.$/m);
  assert.match(text, /^Not shown: \/workspace\/large\.gif, since it is larger than 1 MB\.$/m);
  assert.match(text, /^Not shown: "\/workspace\/more 1, or so\.png", since it is not/m);
  assert.match(text, /^Not shown: 4 more pictures; a run shows 4, get_artifact one in \/artifacts\.$/m);
});

test('no link leads to a picture elsewhere', async () => {
  await using tools = await openTools();
  const command = `mkdir -p real; ${draw('real/a.png')}; ln -s real linked; ln -s "$PWD/real/a.png" b.png`;
  const { text, result } = await tools.call('execute_bash', { command, show: true });
  assert.equal(pictures(result).length, 1);
  assert.doesNotMatch(text, /linked|b\.png/);
});

test('a client on the same machine is told where the folders are, if the run made something there', async () => {
  await using tools = await openTools({ sharesMachine: true });
  const { artifacts, workspace } = await tools.room.places.of('ada');
  const nothing = await tools.call('execute_bash', { command: 'echo 42' });
  assert.doesNotMatch(nothing.text, /On this machine/);
  const one = await tools.call('execute_bash', { command: 'echo 1 > "$ARTIFACTS/plot.svg"' });
  assert.ok(
    one.text.endsWith(`\nCreated: /artifacts/plot.svg\nOn this machine /artifacts is ${artifacts}.`),
    one.text,
  );
  const two = await tools.call('execute_bash', { command: 'echo 1 > a; echo 2 > "$ARTIFACTS/plot.svg"' });
  assert.ok(
    two.text.endsWith(`\nOn this machine /artifacts is ${artifacts}, /workspace is ${workspace}.`),
    two.text,
  );
});
