import { s3Storage, type S3Options } from './s3.ts';

/** A process that appends without end what its number says; for tests that kill it. */
const [options, id, key] = JSON.parse(process.argv[2]!) as [S3Options, string, string];
const storage = await s3Storage(options);

async function* endless(): AsyncGenerator<Uint8Array> {
  for (let count = 0; ; count++) yield Buffer.alloc(1024 * 1024, count % 251);
}

await storage.staging.append(id, 0, endless(), { key });
