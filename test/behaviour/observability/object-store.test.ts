import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO_AZURITE, startAzurite } from '../../../src/ports/storage/azurite.testing.ts';
import { share, startServer } from '../../server.testing.ts';
import { collectSpans } from './spans.testing.ts';

it('requests to an object store are counted and timed by operation and result, and told as spans', async (t) => {
  await using azurite = await startAzurite();
  if (azurite === null) return t.skip(NO_AZURITE);
  await using spans = collectSpans();
  const { endpoint, account, key, container } = azurite;
  await using server = await startServer({
    storage: 'azure',
    azureEndpoint: endpoint,
    azureAccount: account,
    azureKey: key,
    azureContainer: container,
    tracing: true,
  });
  const { downloadUrl } = await share(server, 'hello');
  assert.equal(await (await fetch(downloadUrl)).text(), 'hello');
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('workcrate_storage_request_seconds_count'));
  for (const operation of ['PUT', 'GET'])
    assert.ok(
      lines.some((line) => line.includes(`operation="${operation}",result="ok"`)),
      lines.join('\n'),
    );
  const label =
    /^workcrate_storage_request_seconds_count\{operation="[A-Z]+",result="(?:ok|\d{3}|failed)"\} \d+$/;
  for (const line of lines) assert.match(line, label);
  const told = JSON.stringify(spans.all().map(({ name, attributes }) => [name, attributes]));
  assert.match(told, /"storage staging\.commit",\{"workcrate\.storage":"azure"\}/);
  for (const secret of [key, encodeURIComponent(key)]) {
    assert.ok(!text.includes(secret) && !told.includes(secret));
    assert.ok(!server.logged.some((line) => line.includes(secret)));
  }
});
