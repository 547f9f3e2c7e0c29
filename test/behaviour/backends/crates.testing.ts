import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { loadConfig, type ServerConfig as Config } from '../../../src/server/settings.ts';
import { openCrateSource, type SourceOptions } from '../../../src/features/crates/sources/sources.ts';
import { toSourceOptions } from '../../../src/features/crates/source-options.ts';
import { createBlobs } from '../../../src/ports/storage/azure/client.ts';
import { chunksOf } from '../../../src/ports/storage/bytes.testing.ts';
import { openBucket, removeS3Object } from '../../../src/ports/storage/s3/client.ts';
import { startServer, storageSettings, type TestServer } from '../../server.testing.ts';

const fixtures = join(import.meta.dirname, '../../../fixtures/crates');

export const zipFixture = (name: string): Buffer => readFileSync(join(fixtures, 'zips', name));

/** A crate that says so little that a test can say all of it. */
export function metadata(name: string, more: Record<string, unknown> = {}, entities: object[] = []): string {
  return JSON.stringify({
    '@context': 'https://w3id.org/ro/crate/1.1/context',
    '@graph': [
      {
        '@id': 'ro-crate-metadata.json',
        '@type': 'CreativeWork',
        conformsTo: { '@id': 'https://w3id.org/ro/crate/1.1' },
        about: { '@id': './' },
      },
      { '@id': './', '@type': 'Dataset', name, datePublished: '2021-03-04', ...more },
      ...entities,
    ],
  });
}

export interface CrateServer extends TestServer {
  /** The URL of the source that all crates of the test stand in. */
  readonly source: string;
  put(name: string, bytes: string | Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}

/** A server with one source of crates: a folder, or a prefix of the store that the suite runs on. */
export async function startCrateServer(
  crates: Readonly<Record<string, string | Uint8Array>>,
  overrides: Partial<Config> = {},
): Promise<CrateServer> {
  await using opened = new AsyncDisposableStack();
  const { url, config } = await newSource(opened);
  const source = await openCrateSource(toSourceOptions(config, url));
  opened.defer(() => source.close());
  const put = async (name: string, given: string | Uint8Array): Promise<void> => {
    const bytes = Buffer.from(given as string);
    await source.put(name, bytes.length, chunksOf(bytes));
  };
  for (const [name, bytes] of Object.entries(crates)) await put(name, bytes);
  const settings = { crateSources: [url], crateInterval: 0, ...overrides };
  const server = opened.use(await startServer(settings));
  const all = opened.move();
  return {
    ...server,
    get url() {
      return server.url;
    },
    get client() {
      return server.client;
    },
    source: source.url,
    put,
    remove: (name) => removeObject(toSourceOptions(config, url), name),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function newSource(opened: AsyncDisposableStack): Promise<{ url: string; config: Config }> {
  const config = { ...loadConfig({ port: '0' }, {}).config, ...storageSettings() };
  const prefix = `crates-${randomBytes(8).toString('hex')}`;
  if (config.storage === 's3') return { url: `s3://${config.s3Bucket}/${prefix}`, config };
  if (config.storage === 'azure') return { url: `azure://${config.azureContainer}/${prefix}`, config };
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-source-'));
  opened.defer(() => rm(folder, { recursive: true, force: true }));
  return { url: pathToFileURL(folder).href, config };
}

/** Behind the back of the server, as whoever keeps the crates does. */
async function removeObject(options: SourceOptions, name: string): Promise<void> {
  switch (options.kind) {
    case 'folder':
      return rm(join(options.directory, name));
    case 's3': {
      const bucket = openBucket(options);
      await removeS3Object(bucket, options.prefix + name);
      return bucket.close();
    }
    case 'azure': {
      const blobs = createBlobs(options);
      await blobs.remove(options.prefix + name);
      return blobs.close();
    }
  }
}
