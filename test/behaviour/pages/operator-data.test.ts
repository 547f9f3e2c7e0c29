import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { listLinksOfAll } from '../../../src/core/links/all-links.ts';
import { hashLinkToken, toPublicId } from '../../../src/core/links/link.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { databases, send, startTeam, type Member, type Team } from '../users/team.testing.ts';

for (const { kind, url, skip } of databases)
  describe(`what operators see, on ${kind}`, { skip }, () => {
    let team: Team;
    let operator: Member;
    let ada: Member;
    before(async () => {
      team = await startTeam({ database: await url() });
      [operator, ada] = [await team.join('olga', ['operator']), await team.join('ada')];
    });
    after(() => team?.[Symbol.asyncDispose]());

    const read = async (path: string): Promise<string> => {
      const answer = await operator.fetch(path);
      assert.equal(answer.status, 200, path);
      return answer.text();
    };

    it('has every link on one page, the newest first, however many there are', async () => {
      const eve = await team.join('eve');
      const file_id = await send(ada, 'many.txt', 'x');
      for (let count = 0; count < 107; count++) await ada.call('share_file', { file_id });
      await eve.call('share_file', { file_id: await send(eve, 'one.txt', 'x') });
      const seen: string[] = [];
      for (let next: string | null = '/operate/links'; next !== null;) {
        const page: string = await read(next);
        seen.push(...[...page.matchAll(/links\/([0-9a-f]{16})\/revoke/g)].map(([, id]) => id!));
        const after = /rel="next" href="\?([^"]+)"/.exec(page)?.[1] ?? null;
        next = after && `/operate/links?${after}`;
      }
      assert.deepEqual([seen.length, new Set(seen).size], [108, 108]);
      const ofEve = await read('/operate/links?user=eve');
      assert.match(ofEve, /one\.txt/);
      assert.doesNotMatch(ofEve, /many\.txt/);
      assert.match(await read('/operate/links?user=nobody'), /This user has no links/);
      assert.match(await read('/operate/links?after=nonsense'), /one\.txt/);
    });

    it('says that a deleted file is gone, and whose link it was', async () => {
      const file_id = await send(ada, 'soon-gone.txt', 'x');
      const { data } = await ada.call('share_file', { file_id });
      await ada.call('delete_file', { file_id });
      const database = await openDatabase(getDatabaseLocation(team.config));
      try {
        const wanted = { owner: 'ada', after: null, limit: 1 };
        const [link] = (await listLinksOfAll(database, wanted, Date.now())).links;
        assert.deepEqual(
          [link?.owner, link?.filename, link?.id],
          ['ada', null, toPublicId(hashLinkToken(data.token))],
        );
      } finally {
        await database.close();
      }
    });

    it('answers for users, runs and health', async () => {
      const users = await read('/operate/users');
      assert.match(users, /ada/);
      assert.match(await read('/operate/runs'), /Nothing runs now/);
      const health = await read('/operate');
      assert.match(health, new RegExp(kind));
      assert.equal(/Several servers can share/.test(health), kind === 'postgres');
      assert.match(await read('/usage'), /Limits/);
    });

    it('says in words that there is no such run or link', async () => {
      const form = /name="token" value="([^"]+)"/.exec(await read('/operate/links?user=eve'))![1]!;
      for (const path of ['/operate/runs/exec_000000000000/end', '/operate/links/0000000000000000/revoke']) {
        const answer = await fetch(team.url + path, {
          method: 'POST',
          body: new URLSearchParams({ token: form }),
          headers: { authorization: `Bearer ${operator.bearer}` },
        });
        assert.equal(answer.status, 404, path);
        assert.match(await answer.text(), /No (?:run|link) has this id/);
      }
    });
  });
