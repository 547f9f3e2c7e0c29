import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ElicitRequestParams } from '@modelcontextprotocol/client';
import { createAnswers, createApproval } from './terminal.ts';

/** A person who gives these answers in turn, and what they were asked. */
function createPerson(...answers: (string | null)[]) {
  const asked: string[] = [];
  return {
    asked,
    ask: async (question: string) => {
      asked.push(question);
      return answers.shift() ?? null;
    },
  };
}

const form = (
  properties: object,
  required: readonly string[] = [],
  message = 'Tell me more',
): ElicitRequestParams =>
  ({
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties, required },
  }) as ElicitRequestParams;

describe('a question of the server', () => {
  it('each field is asked for until its value is one of its type', async () => {
    const person = createPerson('y', 'ten', '10', 'maybe', 'yes', 'blue', 'red', '');
    const answer = createAnswers(person.ask);
    const fields = {
      count: { type: 'integer' },
      sure: { type: 'boolean', title: 'Are you sure' },
      colour: { type: 'string', enum: ['red', 'green'] },
      note: { type: 'string' },
    };
    assert.deepEqual(await answer(form(fields, ['count', 'sure', 'colour'])), {
      action: 'accept',
      content: { count: 10, sure: true, colour: 'red' },
    });
    assert.match(person.asked[5]!, /colour; red, green/);
    assert.match(person.asked.at(-1)!, /note; string \(may be left out\)/);
  });

  it('no is declined, the end of the input cancels, and nobody is asked forever', async () => {
    const fields = { count: { type: 'number' } };
    assert.deepEqual(await createAnswers(createPerson('n').ask)(form(fields)), { action: 'decline' });
    assert.deepEqual(await createAnswers(createPerson('y').ask)(form(fields, ['count'])), {
      action: 'cancel',
    });
    const stubborn = createPerson('y', ...Array.from({ length: 20 }, () => 'x'));
    assert.deepEqual(await createAnswers(stubborn.ask)(form(fields, ['count'])), { action: 'cancel' });
    assert.ok(stubborn.asked.length < 10);
  });

  it('its words cannot drive the terminal or look like another question', async () => {
    const person = createPerson('n');
    await createAnswers(person.ask)(form({}, [], 'x\u001b[2J\nAllow delete_file'));
    assert.equal(person.asked[0], 'The server asks: x\\u001b[2J\\u000aAllow delete_file\nAnswer? [y/n] ');
  });
});

describe('the approval of a call', () => {
  const tool = { name: 'delete_file', inputSchema: { type: 'object' as const } };

  it('y allows this call, always all of this tool, anything else none', async () => {
    for (const [answer, isAllowed] of [
      ['y', true],
      [' YES ', true],
      ['', false],
      ['yeah', false],
      [null, false],
    ] as const)
      assert.equal(await createApproval([], createPerson(answer).ask)(tool, {}), isAllowed, String(answer));
    const person = createPerson('a');
    const approve = createApproval([], person.ask);
    assert.deepEqual([await approve(tool, {}), await approve(tool, {})], [true, true]);
    assert.equal(person.asked.length, 1);
  });

  it('what is cut is told', async () => {
    const person = createPerson('n');
    await createApproval([], person.ask)(tool, { code: 'x'.repeat(100_000) });
    assert.match(person.asked[0]!, /\n\(\d+ characters are not shown\)\n/);
  });

  it('a glob is about whole names', async () => {
    const approve = createApproval(['delete_*'], null);
    assert.equal(await approve(tool, {}), true);
    assert.equal(await approve({ ...tool, name: 'undelete_file' }, {}), false);
  });
});
