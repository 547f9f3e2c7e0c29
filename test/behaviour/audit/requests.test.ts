import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import type { AuditLine } from '../../../src/core/audit/line.ts';
import { openDatabase } from '../../../src/ports/database/open.ts';
import { getDatabaseLocation } from '../../../src/core/store-options.ts';
import { createWorkspaces } from '../../../src/core/workspaces/workspaces.ts';
import { startTeam, type Member, type Team } from '../users/team.testing.ts';
import { audited, auditOf } from './lines.testing.ts';

const withEnd = ({ level, operation, user, subject, result, details }: AuditLine) => [
  level,
  operation,
  user,
  subject,
  result,
  details?.['kind'],
];

const statusOf = async (who: Member, path: string): Promise<number> => {
  const answer = await who.fetch(path);
  await answer.arrayBuffer();
  return answer.status;
};

/** As a run would have left it. */
async function leaveArtifact({ config }: Team, user: string, name: string): Promise<void> {
  const database = await openDatabase(getDatabaseLocation(config));
  try {
    const places = createWorkspaces({
      database,
      folder: join(config.data, 'places'),
      uids: null,
      clock: Date.now,
    });
    await writeFile(join((await places.of(user)).artifacts, name), 'content of it');
  } finally {
    await database.close();
  }
}

it('artifacts and executions that are had over HTTP are lines as by tool, without what is in them', async () => {
  await using team = await startTeam();
  const ada = await team.join('ada');
  await leaveArtifact(team, 'ada', 'plot.png');
  const asked: [string, number, (string | null | undefined)[]][] = [
    ['/ada/artifacts', 200, ['trace', 'list_artifacts', 'ada', null, 'ok', undefined]],
    ['/ada/artifacts/plot.png', 200, ['trace', 'get_artifact', 'ada', 'plot.png', 'ok', undefined]],
    ['/ada/artifacts/none', 404, ['info', 'get_artifact', 'ada', 'none', 'not_found', undefined]],
    ['/ada/artifacts/a%2Fb', 400, ['info', 'get_artifact', 'ada', 'a/b', 'invalid_input', undefined]],
    ['/executions?text=secret', 200, ['trace', 'search_executions', 'ada', null, 'ok', undefined]],
    [
      '/executions/exec_000000000000',
      404,
      ['info', 'get_execution', 'ada', 'exec_000000000000', 'not_found', undefined],
    ],
  ];
  for (const [path, status] of asked) assert.equal(await statusOf(ada, path), status, path);
  const lines = await audited(team.config.data, ({ details }) => details?.['via'] === 'http', asked.length);
  assert.deepEqual(
    lines.map(withEnd),
    asked.map(([, , line]) => line),
  );
  assert.equal(lines[1]!.details?.['size'], 'content of it'.length);
  assert.doesNotMatch(JSON.stringify(lines), /content of it|secret/);
});

it('a name over HTTP or by tool that climbs is a violation, however it is spelled', async () => {
  await using team = await startTeam();
  const ada = await team.join('ada');
  const paths: [string, string][] = [
    ['/ada/artifacts/..%2f..%2fetc%2fpasswd', '../../etc/passwd'],
    ['/ada/artifacts/..%5c..%5cwindows', String.raw`..\..\windows`],
    ['/ada/artifacts/%252e%252e%252fsecret', '%2e%2e%2fsecret'],
    ['/ada/artifacts/..%c0%af..%c0%afetc', 'ada/artifacts/..%c0%af..%c0%afetc'],
    ['/executions/..%2f..%2fetc', '../../etc'],
  ];
  for (const [path] of paths) assert.ok((await statusOf(ada, path)) >= 400);
  await ada.fetch(paths[0]![0], { method: 'HEAD' });
  await ada.call('get_artifact', { name: '../../etc/passwd' });
  const lines = await audited(team.config.data, ({ level }) => level === 'warning', paths.length + 2);
  assert.deepEqual(
    lines.map(({ user, subject, details }) => [user, subject, details?.['kind']]),
    [...paths, paths[0]!, paths[0]!].map(([, subject]) => ['ada', subject, 'traversal']),
  );
});

it('who asks for what is another’s, or beyond the scope of a key, is named in the audit and the log', async () => {
  await using team = await startTeam();
  const bob = await team.join('bob', ['artifacts']);
  assert.equal(await statusOf(bob, '/ada/artifacts'), 403);
  assert.equal(await statusOf(bob, '/ada/artifacts/plot.png'), 403);
  assert.equal(await statusOf(bob, '/executions'), 403);
  assert.equal(await statusOf(bob, '/metrics'), 403);
  const eve = await team.join('eve', ['files']);
  assert.equal(await statusOf(eve, '/ada/artifacts'), 403);
  const lines = await audited(team.config.data, ({ result }) => result === 'forbidden', 5);
  assert.deepEqual(lines.map(withEnd), [
    ['warning', 'list_artifacts', 'bob', 'ada/artifacts', 'forbidden', 'forbidden'],
    ['warning', 'get_artifact', 'bob', 'ada/artifacts/plot.png', 'forbidden', 'forbidden'],
    ['info', 'GET /executions', 'bob', null, 'forbidden', undefined],
    ['info', 'GET /metrics', 'bob', null, 'forbidden', undefined],
    ['info', 'GET /{user_id}/artifacts', 'eve', null, 'forbidden', undefined],
  ]);
  const logged = team.logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    logged
      .filter(({ event }) => event === 'artifact.refused' || event === 'auth.forbidden')
      .map(({ event, user, of, asked }) => [event, user, of ?? asked]),
    [
      ['artifact.refused', 'bob', 'ada'],
      ['artifact.refused', 'bob', 'ada'],
      ['auth.forbidden', 'bob', 'GET /executions'],
      ['auth.forbidden', 'bob', 'GET /metrics'],
      ['auth.forbidden', 'eve', 'GET /{user_id}/artifacts'],
    ],
  );
});

it('a key or a link that was pasted in a path reaches no line, in no spelling', async () => {
  await using team = await startTeam();
  const ada = await team.join('ada');
  const key = ada.bearer;
  const paths = [
    `/${key}/artifacts`,
    `/ada/artifacts/${key}`,
    `/ada/artifacts/%77${key.slice(1)}`,
    `/ada/artifacts/%2577${key.slice(1)}`,
    `/ada/artifacts/%77${key.slice(1)}%zz`,
    `/executions/${key}`,
  ];
  for (const path of paths) assert.ok((await statusOf(ada, path)) >= 400, path);
  await audited(team.config.data, ({ details }) => details?.['via'] === 'http', paths.length);
  assert.doesNotMatch(JSON.stringify(auditOf(team.config.data)), new RegExp(key.slice(8)));
});
