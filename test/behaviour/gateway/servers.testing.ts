import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { installLocked } from '../../clients/packages.testing.ts';

const installed = await install();

/** The folder with the packages, or why there is none. */
async function install(): Promise<{ readonly folder: string } | { readonly reason: string }> {
  const notice = 'the MCP servers of test/behaviour/gateway: about 30 MB, once';
  try {
    return { folder: await installLocked(join(import.meta.dirname, 'packages'), 'servers', notice) };
  } catch (error) {
    return { reason: `the servers cannot be installed by npm: ${String(error).slice(0, 300)}` };
  }
}

/** False where the servers are there, else why not, for `skip`. */
export const noServers: string | false = 'reason' in installed ? installed.reason : false;

const chromium = '/usr/bin/chromium';

/** False where there is a browser too. */
export const noBrowser: string | false =
  noServers || (existsSync(chromium) ? false : `${chromium} is missing (apt-get install chromium)`);

const program = (path: string): string => join('folder' in installed ? installed.folder : '', path);

export const everything = (...args: string[]) => ({
  command: process.execPath,
  args: [program('@modelcontextprotocol/server-everything/dist/index.js'), ...args],
});

export const filesystem = (folder: string) => ({
  command: process.execPath,
  args: [program('@modelcontextprotocol/server-filesystem/dist/index.js'), folder],
});

export const browser = {
  command: process.execPath,
  args: [
    program('@playwright/mcp/cli.js'),
    '--headless',
    '--isolated',
    '--no-sandbox',
    '--executable-path',
    chromium,
  ],
};

export async function writeServers(folder: string, servers: object): Promise<string> {
  const path = join(folder, 'servers.json');
  await writeFile(path, JSON.stringify(servers));
  return path;
}
