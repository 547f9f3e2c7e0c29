import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { patienceMs } from '../../src/platform/eventually.testing.ts';

const examples = join(import.meta.dirname, '../../packaging/nginx');
const binary = '/usr/sbin/nginx';

export const noNginx: string | false = canRun(binary)
  ? false
  : 'nginx is not installed (Debian: nginx-light)';

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Nginx extends AsyncDisposable {
  readonly folder: string;
  /** What nginx has logged of errors. */
  errors(): Promise<string>;
  /** What it has logged of requests. */
  requests(): Promise<string>;
}

export interface NginxOptions {
  readonly port: number;
  /** The servers, as URLs: one, or two of them. */
  readonly servers: readonly string[];
  /** The folder of the objects, for X-Accel-Redirect. */
  readonly objects?: string;
  /** The lines that have nginx ask for a password are switched on, with these names and passwords. */
  readonly passwords?: string;
}

/** The shell's input ends when this process does, however that comes about: then it ends nginx. */
const guard = `
  trap '' PIPE
  "$NGINX" -p "$DIR" -c "$DIR/nginx.conf" -g 'daemon off;' > "$DIR/out" 2>&1 < /dev/null &
  nginx=$!
  cat > /dev/null
  kill -TERM $nginx 2> /dev/null
  wait $nginx 2> /dev/null
  rm -rf "$DIR"`;

/** A real nginx with the very files of packaging/nginx, in which addresses, ports and paths are replaced. */
export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'workcrate-nginx-'));
  await writeConfiguration(folder, options);
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', NGINX: binary, DIR: folder };
  const shell = spawn('/bin/sh', ['-c', guard], { env, cwd: '/', stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(shell, 'exit');
  const stop = async (): Promise<void> => {
    shell.stdin.end();
    await ended;
  };
  try {
    await answering(options.port, () => readFile(join(folder, 'out'), 'utf8'));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    folder,
    errors: () => readFile(join(folder, 'error.log'), 'utf8'),
    requests: () => readFile(join(folder, 'access.log'), 'utf8'),
    [Symbol.asyncDispose]: stop,
  };
}

async function writeConfiguration(folder: string, options: NginxOptions): Promise<void> {
  const { port, servers, objects = '/nonexistent', passwords } = options;
  await certificate(folder);
  await mkdir(join(folder, 'tmp'));
  const site = replaced(await readFile(join(examples, 'workcrate.conf'), 'utf8'), [
    ['listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`],
    ['/etc/nginx/tls/', `${folder}/`],
    ['/var/log/nginx/', `${folder}/`],
    ['/var/lib/workcrate/files/objects/', `${objects}/`],
    ...(passwords === undefined ? [] : passwordLines(folder)),
  ]);
  if (passwords !== undefined) await writeFile(join(folder, 'htpasswd'), passwords);
  const name = servers.length === 1 ? 'one-server.conf' : 'two-servers.conf';
  const ports = servers.length === 1 ? ['9180'] : ['9181', '9182'];
  const known = replaced(
    await readFile(join(examples, name), 'utf8'),
    ports.map((one, index) => [`:${one}`, `:${new URL(servers[index]!).port}`]),
  );
  await writeFile(join(folder, 'workcrate.conf'), site);
  await writeFile(join(folder, 'servers.conf'), known);
  await writeFile(join(folder, 'nginx.conf'), around(folder));
}

const passwordLines = (folder: string): [string, string][] => [
  ['# auth_basic "workcrate";', 'auth_basic "workcrate";'],
  ['# auth_basic_user_file /etc/nginx/workcrate.htpasswd;', `auth_basic_user_file ${folder}/htpasswd;`],
];

/** Each must be there, or the test would try another configuration than the one that is given to people. */
function replaced(text: string, pairs: readonly (readonly [string, string])[]): string {
  return pairs.reduce((so, [from, to]) => {
    if (!so.includes(from)) throw new Error(`${from} is not in the example`);
    return so.replaceAll(from, to);
  }, text);
}

/** What /etc/nginx/nginx.conf is elsewhere. Folders of this machine belong to who runs the tests. */
function around(folder: string): string {
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const scratch = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `${user}
    worker_processes 2;
    pid ${folder}/pid;
    error_log ${folder}/error.log info;
    events { worker_connections 512; }
    http {
      ${scratch.map((name) => `${name}_temp_path ${folder}/tmp/${name};`).join('\n')}
      access_log ${folder}/access.log;
      include ${folder}/servers.conf;
      include ${folder}/workcrate.conf;
    }`;
}

/** One for 127.0.0.1, which this process trusts from then on. */
async function certificate(folder: string): Promise<void> {
  const [key, chain] = [join(folder, 'key.pem'), join(folder, 'fullchain.pem')];
  const made = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost'.split(
    ' ',
  );
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', chain];
  await promisify(execFile)('openssl', ['req', ...made, ...names]);
  setDefaultCACertificates([...getCACertificates('default'), await readFile(chain, 'utf8')]);
}

async function answering(port: number, said: () => Promise<string>): Promise<void> {
  for (const end = performance.now() + patienceMs; performance.now() < end;) {
    const socket = connect(port, '127.0.0.1');
    const open = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (open) return;
    await pause(25);
  }
  throw new Error(`nginx does not answer: ${await said()}`);
}
