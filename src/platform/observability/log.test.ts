import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { WorkcrateError } from '../errors.ts';
import { createLog } from './log.ts';

function collected(level: Parameters<typeof createLog>[0] = 'debug') {
  const lines: string[] = [];
  return { lines, log: createLog(level, (line) => void lines.push(line)) };
}

it('nothing that a value holds can forge a line', () => {
  const { lines, log } = collected();
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('a\nb', 'a\r\n{"level":"error"}', '\u001B[2J', '\u2028', '\u0085'),
  );
  const property = fc.property(hostile, hostile, (value, message) => {
    lines.length = 0;
    log.info('test', { value, nested: { value }, error: new Error(message) });
    assert.equal(lines.length, 1);
    // oxlint-disable-next-line no-control-regex -- control characters are what this is about
    assert.match(lines[0]!, /^[^\u0000-\u001F]+\n$/);
    const read = JSON.parse(lines[0]!) as { value: string; error: { message: string } };
    assert.deepEqual([read.value, read.error.message], [value, message]);
  });
  fc.assert(property, { numRuns: 1000 });
});

it('a line tells its time, level and event, then the fields', () => {
  const { lines, log } = collected();
  log.warn('sweep.failed', { count: 3 });
  assert.match(
    lines[0]!,
    /^\{"time":"\d{4}-\d\d-\d\dT[\d:.]+Z","level":"warn","event":"sweep\.failed","count":3\}\n$/,
  );
});

it('an error is logged with its code and its causes, without its stack', () => {
  const { lines, log } = collected();
  const cause = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
  log.error('failed', { error: new WorkcrateError('storage_full', 'The disk is full.', { cause }) });
  const { error } = JSON.parse(lines[0]!) as { error: unknown };
  assert.deepEqual(error, {
    code: 'storage_full',
    message: 'The disk is full.',
    cause: { code: 'ENOSPC', message: 'no space left' },
  });
});

it('levels below the least are left out, and off leaves out all', () => {
  const { lines, log } = collected('warn');
  for (const level of ['debug', 'info', 'warn', 'error'] as const) log[level](level);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { event: string }).event),
    ['warn', 'error'],
  );
  const silent = collected('off');
  silent.log.error('error');
  assert.deepEqual(silent.lines, []);
});
