// What a Node that is too old does: it says so, on stderr and to an MCP client. Only what Node 12 can read.
import { existsSync } from 'fs';

export const needed = 26;

const platform = `${process.platform}-${process.arch}`;

/** The npm package that has nothing but a Node for this machine. `node` has it too, but needs an install script. */
export const nodePackage = platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`;

/** Over stdio it also answers, because clients show their user the error of a handshake, and seldom stderr. */
export function refuse(problem) {
  const message = `workcrate: ${problem}. ${describeRemedy()}`;
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
  if (process.argv.includes('stdio')) answerRequests(message);
}

function describeRemedy() {
  if (existsSync(new URL('../src/cli.ts', import.meta.url))) return 'In the checkout, `npm ci` installs it.';
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
