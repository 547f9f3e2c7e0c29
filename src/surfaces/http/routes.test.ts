import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { methodName, routeName } from './requests.ts';

it('a path is named by its route', () => {
  for (const [url, route] of [
    ['/', '/'],
    ['/livez?x=1', '/livez'],
    ['/files/abc', '/files/{token}'],
    ['/files/abc/def?x', '/files/{token}'],
    ['/uploads/abc', '/uploads/{token}'],
    ['/executions?text=a', '/executions'],
    ['/executions/exec_1', '/executions/{id}'],
    ['/me/artifacts', '/{user_id}/artifacts'],
    ['/me/artifacts/a/b.txt', '/{user_id}/artifacts/{artifact_id}'],
    ['/.well-known/oauth-protected-resource/mcp', '/.well-known'],
    ['/nothing', 'other'],
    ['', 'other'],
  ] as const)
    assert.equal(routeName(url), route, url);
});

it('names are few, and none holds anything of what was sent', () => {
  const names = new Set<string>();
  const secret = 'S3cr3tToken';
  const segment = fc.constantFrom(
    'files',
    'uploads',
    'artifacts',
    'executions',
    '.well-known',
    'mcp',
    secret,
    '',
  );
  const path = fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join('/')}?key=${secret}`);
  const property = fc.property(fc.oneof(path, fc.webPath()), fc.string(), (url, method) => {
    names.add(routeName(url));
    assert.ok(!routeName(url).includes(secret));
    assert.ok(
      ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'].includes(methodName(method)),
    );
  });
  fc.assert(property, { numRuns: 2000 });
  assert.ok(names.size <= 15, [...names].join(' '));
});
