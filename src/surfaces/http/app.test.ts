import assert from 'node:assert/strict';
import { it } from 'node:test';
import { checkReservedWords } from './app.ts';

it('a route whose first word could be the name of a new user is refused when the server starts', () => {
  checkReservedWords(['/', '/mcp', '/runs/:id', '/:user_id/artifacts', '/.well-known/x', '*']);
  assert.throws(() => checkReservedWords(['/mcp', '/boards/:id', '/boards']), /names\.ts: boards\.$/);
});
