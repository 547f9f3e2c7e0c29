import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPageRoutes, isPage, type PageRoutesOptions } from '../../../src/surfaces/pages/pages.ts';
import { recordProof } from '../../requirements/requirements.testing.ts';
import { startTeam, type Team } from '../users/team.testing.ts';
import { postForm, readFormToken, signInByKey } from './forms.testing.ts';

/** Stands for whatever routes are made with: here they are only listed, and the real server is asked. */
const anything: unknown = new Proxy(() => {}, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
});

const routes = createPageRoutes(anything as PageRoutesOptions).routes.filter(
  ({ method }) => method !== 'ALL',
);
const changes = routes.filter(({ method }) => method !== 'GET');
const toPath = (pattern: string): string =>
  pattern.replaceAll(/:\w+(?:\{[^}]*\})?\??/g, 'x').replaceAll('*', 'x');

/** Where a refusal is told on the form itself, so that what somebody has written is not lost. */
const keepsDraft = (path: string): boolean => path === '/documents';

describe('every change on the page', () => {
  let team: Team;
  let [ada, eve] = ['', ''];
  before(async () => {
    team = await startTeam();
    [ada, eve] = [
      await signInByKey(team.url, await team.key('ada')),
      await signInByKey(team.url, await team.key('eve')),
    ];
  });
  after(() => team?.[Symbol.asyncDispose]());

  it('is a POST, at a path where the cookie counts', () => {
    assert.ok(changes.length >= 8, `${changes.length} routes`);
    for (const { method, path } of routes) {
      assert.match(method, /^(?:GET|POST)$/, path);
      assert.ok(isPage(toPath(path)) || path.startsWith('/sign-in'), path);
    }
  });

  for (const { path } of changes)
    it(`POST ${path} does nothing without a token of the page, or with that of another user`, async () => {
      const url = team.url + toPath(path);
      const foreign = await readFormToken(`${team.url}/connect`, eve);
      for (const fields of [{}, { token: '' }, { token: 'x'.repeat(43) }, { token: foreign }]) {
        const answer = await postForm(url, fields, ada);
        assert.equal(answer.status, keepsDraft(path) ? 200 : 403, JSON.stringify(fields));
        assert.match(await answer.text(), /came from elsewhere/);
      }
      const elsewhere = await fetch(url, {
        method: 'POST',
        headers: { cookie: ada, origin: 'https://evil.example', 'content-type': 'text/plain' },
      });
      assert.equal(elsewhere.status, 403, 'another origin');
      if (!path.startsWith('/sign-in')) assert.equal((await postForm(url, {})).status, 401, 'nobody');
    });

  it('is refused where the key has not the scope, whatever the form says', async () => {
    const cookie = await signInByKey(team.url, await team.key('narrow', ['skills']));
    const token = await readFormToken(`${team.url}/connect`, cookie);
    for (const { path } of changes.filter((route) => !route.path.startsWith('/sign-'))) {
      const answer = await postForm(team.url + toPath(path), { token }, cookie);
      const words = await answer.text();
      if (keepsDraft(path)) assert.match(words, /role="alert"[^]*no tool .* for you here/);
      else assert.ok(answer.status >= 400, `${path} answered ${answer.status}`);
    }
    for (const view of ['/runs/x', '/sessions', '/library', '/crates/x', '/operate']) {
      const answer = await fetch(team.url + view, { headers: { cookie, accept: 'text/html' } });
      assert.ok(answer.status === 403 || answer.status === 404, `${view} answered ${answer.status}`);
    }
    recordProof('G1:csrf-on-every-change', 'G1:scopes-on-the-page');
  });
});
