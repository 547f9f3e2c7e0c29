import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createRunQuestions } from './questions.ts';

const never = new AbortController().signal;
const question = { ask: {}, state: {} };
const read = () => ({ kind: 'missing' }) as const;
const open = (isAttended: boolean, timeoutMs = 10_000) => {
  let abandoned = 0;
  const questions = createRunQuestions({ isAttended, timeoutMs, abandoned: () => abandoned++ });
  return { questions, countAbandoned: () => abandoned };
};

it('a question waits for the call that attends the run, and its answer for the next round', async () => {
  const { questions } = open(true);
  const asked = questions.ask(question, never);
  const first = questions.attend();
  const pending = await first.next;
  first[Symbol.dispose]();
  const second = questions.attend();
  questions.answer(pending.number + 1, read);
  questions.answer(pending.number, read);
  assert.equal(await asked, read);
  second[Symbol.dispose]();
  await assert.rejects(questions.ask(question, never), /nobody can be asked/);
});

it('several are asked one after the other', async () => {
  const { questions } = open(true);
  const all = [1, 2, 3].map(() => questions.ask(question, never));
  const numbers: number[] = [];
  let attended = questions.attend();
  for (const one of all) {
    const { number } = await attended.next;
    numbers.push(number);
    attended[Symbol.dispose]();
    // The next round attends before it answers, so that the next question finds somebody.
    attended = questions.attend();
    questions.answer(number, read);
    await one;
  }
  assert.deepEqual(numbers, [1, 2, 3]);
});

it('a run in the background asks nobody', async () => {
  await assert.rejects(open(false).questions.ask(question, never), { code: 'client_refused' });
});

it('no answer in time is a refusal, and the run has lost its call', async () => {
  const { questions, countAbandoned } = open(true, 20);
  using attended = questions.attend();
  const asked = questions.ask(question, never);
  await attended.next;
  await assert.rejects(asked, /nobody answered/);
  assert.equal(countAbandoned(), 1);
});

it('the end of the run ends its question', async () => {
  const { questions } = open(true);
  const asked = questions.ask(question, never);
  questions[Symbol.dispose]();
  await assert.rejects(asked, /the run has ended/);
});

it('more than twenty questions are too many', async () => {
  const { questions } = open(true);
  for (let number = 1; number <= 20; number++) {
    questions.attend();
    const asked = questions.ask(question, never);
    questions.answer(number, read);
    await asked;
  }
  await assert.rejects(questions.ask(question, never), /has asked 20 times/);
});
