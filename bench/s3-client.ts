/** One transfer through our storage, for bench/s3.ts. Prints its peak memory in MB. */
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { s3Storage, type S3Options } from '../src/ports/storage/s3/s3.ts';

interface Task {
  readonly way: 'upload' | 'download';
  readonly file: string;
  readonly key: string;
  readonly options: S3Options;
}

const { way, file, key, options } = JSON.parse(process.argv[2]!) as Task;
const storage = await s3Storage(options);
await (way === 'upload' ? upload() : download());
await storage.close();
console.log(process.resourceUsage().maxRSS / 1024);

async function upload(): Promise<void> {
  await storage.remove(key);
  const bytes = createReadStream(file, { highWaterMark: 256 * 1024 });
  await storage.staging.append(key, 0, bytes, { key });
  await storage.staging.commit(key, key);
}

async function download(): Promise<void> {
  await using object = (await storage.open(key))!;
  await using to = await open(file, 'w');
  for await (const chunk of object.read(0, object.size)) await to.write(chunk);
}
