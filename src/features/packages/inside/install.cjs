'use strict';
// Makes a folder of Node packages by npm. It runs in the sandbox, as the user; what to do comes as JSON on stdin. What npm
// fetches is told on stderr, how it ended on the last line of stdout. Nobody believes it: whoever started this looks at what
// is there.
const { spawn } = require('node:child_process');
const {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/** Of the network where it has its own. */
const certificates = process.env.SSL_CERT_FILE || '/etc/ssl/certs/ca-certificates.crt';
const { WORKCRATE_PACKAGES: root, WORKCRATE_NPM: npm } = process.env;
const task = JSON.parse(readFileSync(0, 'utf8'));
const folder = join(root, 'node', task.environment);
const scratch = join(root, 'cache', `scratch-${task.environment}`);
/** Here alone are credentials: no other sandbox has this /tmp. */
const secrets = mkdtempSync(join(tmpdir(), 'secrets-'));

const end = (facts) => process.stdout.write(`\nworkcrate: ${JSON.stringify(facts)}\n`);

/** So that what is there already keeps its versions. */
function keepVersions() {
  try {
    copyFileSync(join(root, 'node/current/package-lock.json'), join(folder, 'package-lock.json'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

const fixedArguments =
  'install --ignore-scripts --no-audit --no-fund --no-update-notifier --omit=dev --json --loglevel=http --logs-max=0 ' +
  '--fetch-retries=1 --fetch-timeout=20000 --fetch-retry-mintimeout=500 --fetch-retry-maxtimeout=5000 ' +
  '--replace-registry-host=always';

function makeArguments() {
  const proxy = process.env.http_proxy || process.env.HTTP_PROXY;
  return [
    ...fixedArguments.split(' '),
    `--registry=${task.registry}`,
    `--cache=${join(root, 'cache/npm')}`,
    `--userconfig=${join(secrets, 'npmrc')}`,
    `--globalconfig=${join(scratch, 'none')}`,
    ...(proxy ? [`--proxy=${proxy}`, `--https-proxy=${proxy}`, '--noproxy='] : []),
    ...(existsSync(certificates) ? [`--cafile=${certificates}`] : []),
  ];
}

async function install() {
  const { dependencies, overrides } = task;
  const described = { name: 'packages', private: true, dependencies, overrides };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(described, null, 2));
  keepVersions();
  writeFileSync(join(secrets, 'npmrc'), task.npmrc, { mode: 0o600 });
  const child = spawn(process.execPath, [join(npm, 'bin/npm-cli.js'), ...makeArguments()], {
    cwd: folder,
    // Compiled code of npm would go to the scratch folder, in hundreds of files that nobody uses again.
    env: { ...process.env, TMPDIR: scratch, NO_PROXY: '', no_proxy: '', NODE_DISABLE_COMPILE_CACHE: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, status] = await Promise.all([
    child.stdout.toArray().then((parts) => Buffer.concat(parts).toString()),
    new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal))),
  ]);
  return status === 0 ? { done: true } : { problem: 'failed', status, ...readError(output) };
}

/** npm says what went wrong as JSON. */
function readError(output) {
  try {
    const { code, summary, detail } = JSON.parse(output).error;
    return { code, summary: String(summary).slice(0, 2000), detail: String(detail).slice(0, 2000) };
  } catch {
    return {};
  }
}

mkdirSync(scratch);
void install()
  .then(end)
  .finally(() => {
    for (const used of [scratch, secrets]) rmSync(used, { recursive: true, force: true });
  });
