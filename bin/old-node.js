// What a Node that is too old does: it says so, on stderr and to an MCP client. Only what Node 12 can read.
import { existsSync } from 'fs';

export const needed = 26;

const platform = `${process.platform}-${process.arch}`;

/** The npm package that has nothing but a Node for this machine. `node` has it too, but needs an install script. */
export const nodePackage = platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`;

/** Over stdio it also answers, because clients show their user the error of a handshake, and seldom stderr. */
export function refuse(problem) {
  refuseWith(`${problem}. ${describeRemedy()}`);
}

/** The Node that npm brought is there, and the machine lacks a library that it needs. */
export function refuseWithoutLibrary(found, library) {
  const cause = `this is Node ${found}, and the Node ${needed} that comes with workcrate needs ${library}, which is missing here`;
  refuseWith(`${cause}. ${describeLibraryRemedy(library)}`);
}

function refuseWith(text) {
  const message = `workcrate: ${text}`;
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
  if (process.argv.includes('stdio')) answerRequests(message);
}

/** Null where a program did not start for another reason. glibc and macOS name the library in words of their own. */
export function findMissingLibrary(said) {
  const match =
    /error while loading shared libraries: ([\w.+-]+):/.exec(said) || /Library not loaded: (\S+)/.exec(said);
  return match === null ? null : match[1];
}

/** Debian names a library's package after it: libgcc_s.so.1 is in libgcc-s1. Others have names that follow no rule. */
function describeLibraryRemedy(library) {
  const parts = /^([\w+-]+)\.so\.(\d+)$/.exec(library);
  if (parts === null || !existsSync('/usr/bin/apt-get'))
    return 'Install the package of your system that has it.';
  const become = process.getuid() === 0 ? '' : 'sudo ';
  return `Install it: ${become}apt-get install ${parts[1].replace('_', '-')}${parts[2]}`;
}

function describeRemedy() {
  if (existsSync(new URL('../src/main.ts', import.meta.url))) return 'In the checkout, `npm ci` installs it.';
  const command = /^[a-z]+$/.test(process.argv[2]) ? ` ${process.argv[2]}` : '';
  return `Run this instead: npx -y -p ${nodePackage}@${needed} -p workcrate workcrate${command}`;
}

const maxBuffered = 1024 * 1024;

/** Every request gets the message as its error, until the client goes. */
function answerRequests(message) {
  let rest = '';
  process.stdout.on('error', () => process.stdin.destroy());
  process.stdin.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop();
    if (rest.length > maxBuffered) process.stdin.destroy();
    for (const id of lines.map(readRequestId).filter((one) => one !== null))
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message } })}\n`);
  });
}

/** Null for what wants no answer: notifications, and what is no request. */
function readRequestId(line) {
  try {
    const { id, method } = JSON.parse(line);
    return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}
