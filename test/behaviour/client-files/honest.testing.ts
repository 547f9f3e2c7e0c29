import { execFile } from 'node:child_process';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Manners } from './clients.testing.ts';

/** The path that a question is about, as people read it. */
function askedIn(question: string): { path: string; isFolder: boolean } {
  const named = /(?<kind>file|folder) (?<path>"(?:[^"\\]|\\.)*") of (?:your|the) project/.exec(
    question,
  )?.groups;
  if (!named) throw new Error(`nothing is asked for in: ${question}`);
  return { path: JSON.parse(named['path']!) as string, isFolder: named['kind'] === 'folder' };
}

/** A client that does what it is asked, with the files of its project, and a person who agrees to everything. */
export function honest(root: string): Manners & { readonly root: string } {
  return {
    root,
    form: async ({ message }) => ({ action: 'accept', content: { content: await textOf(root, message) } }),
    async url(url, message) {
      const page = await fetch(url);
      if (page.status !== 200) throw new Error(`the page answered ${page.status}`);
      await page.text();
      await send(url, await bytesOf(root, message, true));
      return { action: 'accept' };
    },
    async sample(prompt) {
      const [, mark] = /BEGIN-([\w-]+)/.exec(prompt)!;
      const content = await bytesOf(root, prompt, false);
      const text = content.toString(prompt.includes('in base64') ? 'base64' : 'utf8');
      return `Here it is.\nBEGIN-${mark}\n${text}\nEND-${mark}`;
    },
  };
}

/** As the page does it. */
export async function send(page: string, bytes: Uint8Array | string): Promise<Response> {
  const { origin, pathname } = new URL(page);
  const token = pathname.replace(/^\/ask\//, '');
  return fetch(`${origin}/uploads/${token}`, { method: 'PUT', body: bytes as string });
}

const textOf = async (root: string, question: string): Promise<string> =>
  (await bytesOf(root, question, false)).toString('utf8');

/** The page tells paths from the folder, and that it is done; people and models are asked for those from the project. */
async function bytesOf(root: string, question: string, fromFolder: boolean): Promise<Buffer> {
  const { path, isFolder } = askedIn(question);
  if (!isFolder) return readFile(join(root, path));
  const lines = (await entriesIn(root, path)).map(({ name, ...facts }) =>
    JSON.stringify({ path: fromFolder ? name : `${path}/${name}`, ...facts }),
  );
  return Buffer.from([...lines, ...(fromFolder ? ['{"end":true}'] : [])].join('\n'));
}

async function entriesIn(root: string, folder: string) {
  const names = await readdir(join(root, folder), { recursive: true });
  return Promise.all(
    names.map(async (name) => {
      const stats = await stat(join(root, folder, name));
      const type = stats.isDirectory() ? 'folder' : 'file';
      return { name, type, size: stats.size, mtime: Math.trunc(stats.mtimeMs) };
    }),
  );
}

/** The agent's shell: runs a command as it stands, in the project. */
export async function shell(root: string, command: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', command], { cwd: root, timeout: 60_000 });
  return stdout;
}
