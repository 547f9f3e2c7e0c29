import assert from 'node:assert/strict';
import { it } from 'node:test';
import { backends, share, startServer } from '../server.testing.ts';

it(`a file goes in and comes out (${backends})`, async () => {
  await using server = await startServer();
  const link = await share(server, 'hello', { filename: 'a.txt' });
  assert.equal(await (await fetch(link.downloadUrl)).text(), 'hello');
});
