import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { freePort } from '../../../platform/free-port.testing.ts';
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';
import { collectBytes } from '../../../platform/streams.ts';
import { NO_AZURITE, startAzurite, type TestAzurite } from '../azurite.testing.ts';
import { chunksOf, failureOf } from '../bytes.testing.ts';
import { startFaultyProxy } from '../remote/faulty-proxy.testing.ts';
import { sourceContract, type TestSource } from '../source.contract.ts';
import { impatient, partBytes } from './azure.testing.ts';
import type { AzureOptions } from './azure.ts';
import { createBlobs } from './client.ts';
import { azureSource } from './source.ts';

const started = await startAzurite();
const azurite = started ?? ({} as TestAzurite);
after(() => started?.[Symbol.asyncDispose]());

let count = 0;
function optionsFor(changes: Partial<AzureOptions> = {}): AzureOptions {
  const { key, endpoint, account, container } = azurite;
  const prefix = `source ${count++}/`;
  return { endpoint, account, container, prefix, credential: { key }, partBytes, ...changes };
}

async function testSource(changes: Partial<AzureOptions> = {}): Promise<TestSource> {
  const options = optionsFor(changes);
  const blobs = createBlobs(options);
  const source = await azureSource(options);
  return {
    source,
    many: 5 * partBytes + 1,
    takesControls: false,
    write: async (name, body) => void (await blobs.put(options.prefix + name, body, {})),
    remove: (name) => blobs.remove(options.prefix + name),
    async [Symbol.asyncDispose]() {
      await source.close();
      blobs.close();
    },
  };
}

describe('Azure sources', { skip: started === null && NO_AZURITE }, () => {
  sourceContract('Azure Blob on Azurite', () => testSource());

  it('stands below its prefix, whatever is in that', async () => {
    await using test = await testSource({ prefix: 'ä b+c/100%/' });
    await using other = await testSource();
    await test.write('x.zip', Buffer.from('x'));
    await other.write('y.zip', Buffer.from('y'));
    assert.equal(test.source.url, `azure://${azurite.container}/ä b+c/100%/`);
    assert.deepEqual(
      (await test.source.list()).objects.map(({ name }) => name),
      ['x.zip'],
    );
    recordProof('B1:azure-source');
  });

  it('answers that get lost and bodies that break off do no harm', async () => {
    await using proxy = await startFaultyProxy(azurite.endpoint);
    const source = await azureSource(optionsFor({ endpoint: proxy.endpoint }), impatient);
    for (const size of [10_000, 5 * partBytes]) {
      const [name, bytes, lost] = [`${size}.zip`, randomBytes(size), new Set<string>()];
      proxy.fault = ({ method, url }) =>
        method !== 'PUT' || lost.has(url) ? null : (lost.add(url), 'lose answer');
      assert.equal((await source.put(name, size, chunksOf(bytes))).size, size);
      let cuts = 0;
      proxy.fault = ({ method }) => (method === 'GET' && cuts++ < 2 ? { cutAfter: 5000 } : null);
      await using open = (await source.open(name))!;
      assert.ok((await collectBytes(open.read(0, size))).equals(bytes));
    }
    await source.close();
  });

  it('a wrong key, no container and nobody there are told apart, and no secret is told', async () => {
    const key = randomBytes(64).toString('base64');
    const cases: [Partial<AzureOptions>, RegExp][] = [
      [{ credential: { key } }, /does not accept the credential/],
      [{ container: 'nowhere' }, /There is no container nowhere/],
      [{ endpoint: `http://127.0.0.1:${await freePort()}/${azurite.account}` }, /refuses connections/],
    ];
    for (const [changes, reason] of cases) {
      const source = await azureSource(optionsFor(changes), { ...impatient, tries: 2 });
      const works = [
        () => source.list(),
        () => source.stat('x'),
        () => source.open('x'),
        () =>
          source.put(
            'x',
            1,
            (async function* () {
              yield new Uint8Array(1);
            })(),
          ),
      ];
      for (const work of works) {
        const failure = await failureOf(work(), key, azurite.key);
        assert.equal(failure.code, 'source_unreachable');
        assert.match(failure.message, reason);
      }
      await source.close();
    }
  });
});
