import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { shareFrom, startProgram, uploadTo } from './program.ts';
import { freePort } from '../src/platform/free-port.testing.ts';

/** A server under test, alone on the first core, and where it gives each file. */
export interface Contestant extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly urls: Readonly<Record<string, string>>;
}

const firstCore = ['taskset', '-c', '0'];

/** The real program, to which the files are sent as a user would. */
export async function startWorkcrate(
  name: string,
  flags: readonly string[],
  files: Readonly<Record<string, string>>,
  data: string,
): Promise<Contestant> {
  const program = await startProgram({ data, flags, under: firstCore });
  const urls: Record<string, string> = {};
  for (const [file, path] of Object.entries(files)) {
    const id = await uploadTo(
      program,
      `${file}.bin`,
      Readable.toWeb(createReadStream(path)) as ReadableStream,
    );
    urls[file] = await shareFrom(program, id);
  }
  return { name, pid: program.pid, urls, [Symbol.asyncDispose]: () => program[Symbol.asyncDispose]() };
}

/** nginx with one worker and sendfile, in a folder of its own. */
export async function startNginx(files: Readonly<Record<string, string>>, root: string): Promise<Contestant> {
  const port = await freePort();
  const prefix = join(root, 'nginx');
  mkdirSync(prefix);
  writeFileSync(join(prefix, 'nginx.conf'), nginxConfig(root, prefix, port));
  const words = [...firstCore, 'nginx', '-p', prefix, '-e', join(prefix, 'error.log'), '-c', 'nginx.conf'];
  const child = spawn(words[0]!, words.slice(1), { stdio: 'inherit' });
  const urls = Object.fromEntries(
    Object.keys(files).map((file) => [file, `http://127.0.0.1:${port}/${file}`]),
  );
  await answering(Object.values(urls)[0]!);
  return {
    name: 'nginx',
    pid: child.pid!,
    urls,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

function nginxConfig(root: string, prefix: string, port: number): string {
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    daemon off;
    worker_processes 1;
    pid ${prefix}/nginx.pid;
    events { worker_connections 512; }
    http {
      access_log off;
      sendfile on;
      keepalive_requests 100000000;
      ${folders.map((folder) => `${folder}_temp_path ${prefix}/${folder};`).join('\n')}
      server { listen 127.0.0.1:${port}; root ${root}; }
    }`;
}

async function answering(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await fetch(url, { method: 'HEAD' }).catch(() => null);
    if (answer?.ok) return;
    await wait(50);
  }
  throw new Error('nginx does not answer');
}
