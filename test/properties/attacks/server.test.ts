import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { keepScores } from './column.testing.ts';
import { playOnServer } from './server.testing.ts';

const server = await playOnServer();

describe('attacks through the whole server', () => {
  for (const { name, how } of server) it(name, () => assert.equal(how, null));
  after(() => keepScores('server', { server }));
});
