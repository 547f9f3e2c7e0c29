import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWorkcrateError } from '../../platform/errors.ts';
import { postgresDatabase } from './postgres.ts';

for (const password of ['pa/zzyx', 'pa@zzyx', 'pa?zzyx', 'pa#zzyx', '/zzyx', 'pa@zz/yx'])
  test(`a password that is not percent-encoded is refused, and no part of it is shown: ${password}`, async () => {
    await assert.rejects(postgresDatabase(`postgres://ada:${password}@127.0.0.1:1/work`), (error) => {
      assert.ok(isWorkcrateError(error, 'config_invalid'));
      assert.match(error.message, /Percent-encode it/);
      assert.doesNotMatch(error.message, /zz|yx/);
      return true;
    });
  });

for (const url of [
  'postgres://ada:pa%2Fss%40word@127.0.0.1:1/work',
  'postgres://127.0.0.1:1/work?user=ada',
  'postgres://ada@127.0.0.1:1/work?options=a@b',
])
  test(`a URL that can be read is taken: ${url}`, async () => {
    await (await postgresDatabase(url)).close();
  });
