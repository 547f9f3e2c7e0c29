import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../../../src/platform/eventually.testing.ts';
import { send, startTeam, type Member, type Team } from '../users/team.testing.ts';
import { descendantsWith, isAlive, workOf } from './descendants.testing.ts';
import { endlessForTypst } from './endless.testing.ts';

const tool = 'build_exports_content';
const mostWaiting = 10;

/** One dot. */
const gif = 'GIF89a\u0001\0\u0001\0\0\0\0,\0\0\0\0\u0001\0\u0001\0\0\u0002\u0002D\u0001\0;';

describe('documents of several users, one at a time', () => {
  let team: Team;
  let ada: Member;
  let bob: Member;
  let operator: Member;
  before(async () => {
    team = await startTeam({ maxDocuments: 1 });
    [ada, bob] = [await team.join('ada'), await team.join('bob')];
    operator = await team.join('operator', ['operator']);
  });
  after(() => team?.[Symbol.asyncDispose]());

  const plain = (member: Member, documentContent: string) =>
    member.call(tool, { documentContent, formats: ['plain'] });

  const queued = async (): Promise<number> =>
    Number(
      /^workcrate_document_builds\{state="queued"\} (\d+)/m.exec(
        await (await operator.fetch('/metrics')).text(),
      )![1],
    );

  /** Something that keeps the only place until it is cancelled. */
  async function occupy(member: Member) {
    const cancel = new AbortController();
    const begun = Promise.withResolvers<void>();
    const answer = member.client.callTool(
      { name: tool, arguments: { documentContent: endlessForTypst, formats: ['pdf'] } },
      {
        signal: cancel.signal,
        onprogress: ({ message }) => void (message === 'writing pdf' && begun.resolve()),
      },
    );
    answer.catch(begun.reject);
    await begun.promise;
    // One that has nothing to do yet would not be ended.
    const work = workOf(descendantsWith('typst-process'));
    await eventually(() => workOf(descendantsWith('typst-process')) > work + 30);
    return { answer, cancel: () => cancel.abort() };
  }

  it('progress is told in order, with a total', async () => {
    const told: [done: number, total: number | undefined, message: string | undefined][] = [];
    const answer = await ada.client.callTool(
      { name: tool, arguments: { documentContent: 'x', formats: ['plain', 'pdf'] } },
      { onprogress: ({ progress, total, message }) => void told.push([progress, total, message]) },
    );
    assert.equal(answer.isError ?? false, false);
    assert.deepEqual(told, [
      [0, 4, 'reading'],
      [1, 4, 'citing'],
      [2, 4, 'writing plain'],
      [3, 4, 'writing pdf'],
      [4, 4, 'written'],
    ]);
  });

  it('when the client cancels, it is answered and what converts is gone', async () => {
    const { answer, cancel } = await occupy(ada);
    const busy = descendantsWith('typst-process');
    cancel();
    await assert.rejects(answer);
    await eventually(() => !busy.some(isAlive));
    const reply = await plain(ada, 'And on.');
    assert.equal(reply.failed, false, reply.text);
    const cut = /"tool":"build_exports_content".*"result":"cancelled"/;
    await eventually(() => team.logged.some((line) => cut.test(line)));
  });

  it('of many at once, those wait that may, and the others are told to come again', async () => {
    const { answer, cancel } = await occupy(ada);
    const others = Array.from({ length: mostWaiting + 2 }, (_, at) => plain(ada, `Number ${at}.`));
    const busy = await Promise.race(others);
    assert.deepEqual([busy.failed, busy.code], [true, 'documents_busy'], busy.text);
    assert.match(busy.text, /Of yours, 1 are being built and 10 are waiting.*Try again/);
    cancel();
    await assert.rejects(answer);
    const told = await Promise.all(others);
    assert.equal(told.filter(({ code }) => code === 'documents_busy').length, 2);
    assert.equal(told.filter(({ failed }) => !failed).length, mostWaiting);
  });

  it('two users take turns', async () => {
    const { answer, cancel } = await occupy(ada);
    const before = team.logged.length;
    const inLine = async (member: Member): Promise<void> => {
      const { failed, text } = await plain(member, member.name);
      assert.equal(failed, false, text);
    };
    const hers = Array.from({ length: 4 }, () => inLine(ada));
    await eventually(async () => (await queued()) === 4);
    const his = inLine(bob);
    await eventually(async () => (await queued()) === 5);
    cancel();
    await Promise.all([assert.rejects(answer), ...hers, his]);
    // Answers may overtake each other on their way; the log has the order in which they were built.
    const built = team.logged
      .slice(before)
      .map((line) => JSON.parse(line) as { event: string; user: string })
      .filter(({ event }) => event === 'document.built')
      .map(({ user }) => user);
    assert.equal(built.length, 5);
    assert.ok(built.indexOf('bob') <= 1, built.join());
  });

  it('a picture of another user is as one that is not there', async () => {
    const id = await send(ada, 'hers.gif', gif);
    const picture = (member: Member, name: string) => plain(member, `![x](${name})`);
    for (const name of [id, 'hers.gif']) {
      assert.equal((await picture(ada, name)).failed, false);
      const [theirs, nobodys] = [await picture(bob, name), await picture(bob, `nobodys-${name}`)];
      assert.deepEqual([theirs.failed, theirs.code], [true, 'document_invalid']);
      assert.equal(theirs.text.replaceAll(name, '…'), nobodys.text.replaceAll(`nobodys-${name}`, '…'));
    }
    const file = await bob.call(tool, { documentFile: id, formats: ['plain'] });
    assert.deepEqual([file.failed, file.code], [true, 'not_found']);
  });

  it('a key for documents alone does not even reach what it has built, as a text or as a picture', async () => {
    const answersOf = async (member: Member): Promise<[string | null, string]> => {
      const [{ file_id: id }] = (await plain(member, 'Only text.')).data.artifacts;
      const named = await member.call(tool, { documentFile: id, formats: ['plain'] });
      return [named.code, (await plain(member, `![x](${id})`)).text];
    };
    const [hers, theirs] = [await answersOf(ada), await answersOf(await team.join('carl', ['documents']))];
    assert.deepEqual([hers[0], theirs[0]], [null, 'not_found']);
    assert.match(hers[1], /is not a picture/);
    assert.match(theirs[1], /There is no picture/);
  });
});
