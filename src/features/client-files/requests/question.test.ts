import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inputRequired } from '@modelcontextprotocol/server';
import { createFileQuestions, type ClientFileQuestions } from './questions.ts';
import { call } from './stage.testing.ts';

const subject = { operation: 'read', path: 'docs/a.md' } as const;
const time = { now: 1_790_000_000_000 };
const server = () => createFileQuestions({ clock: () => time.now, timeoutMs: 1000 });
const ask = (questions: ClientFileQuestions, rung: 'form' | 'roots' = 'form'): Record<string, unknown> => ({
  ...questions.ask(subject, call(), rung, () => inputRequired.listRoots()).state,
});
const take = (questions: ClientFileQuestions, state: Record<string, unknown>, user = 'ann') =>
  questions.take(subject, call({}, { user, state }), false);
const refused = { code: 'invalid_input' };

test('a question is answered once, at any server, and only by who was asked', () => {
  const [one, other] = [server(), server()];
  const state = ask(one);
  assert.throws(() => take(other, state, 'bob'), refused);
  assert.equal(take(other, state)?.path, 'docs/a.md');
  assert.throws(() => take(other, state), refused);
});

test('a question that was answered stays so while others are asked and forgotten, then it is too late', () => {
  const questions = server();
  const [early, state] = [ask(questions), ask(questions)];
  take(questions, early);
  time.now += 600;
  const later = ask(questions);
  take(questions, state);
  time.now += 399;
  take(questions, later);
  assert.throws(() => take(questions, state), refused);
  time.now += 2;
  take(questions, ask(questions));
  assert.throws(() => take(questions, state), { code: 'client_timeout' });
  assert.throws(() => take(questions, later), refused, 'it could still be answered');
});

test('where the project is may be told late or never: the call goes on without', () => {
  const questions = server();
  const [form, roots] = [ask(questions), ask(questions, 'roots')];
  time.now += 1001;
  assert.throws(() => take(questions, form), { code: 'client_timeout' });
  assert.equal(take(questions, roots)?.rung, 'roots');
  assert.throws(() => take(questions, roots), refused);
});
