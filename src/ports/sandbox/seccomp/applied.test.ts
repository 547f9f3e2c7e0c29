import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import { notApplicable, python, underFilter } from './applied.testing.ts';
import { createSeccompPolicy } from './policy.ts';
import { machines, syscalls, type Machine, type Syscall } from './syscalls.ts';

const { EAFNOSUPPORT, EINVAL, ENOPROTOOPT, ENOSYS, ENOTTY, EOPNOTSUPP, EPERM } = constants.errno;
const noPython = notApplicable(python);
const noBwrap = notApplicable();
const policy = createSeccompPolicy('none');
const errnoOf = new Map<unknown, number>([
  ['unknown', ENOSYS],
  ['refuse', EPERM],
  ['notSupported', EOPNOTSUPP],
]);

test('under the filter every forbidden call fails as it should', { skip: noPython }, async () => {
  const column = machines[process.arch as Machine].column;
  const calls = Object.entries(policy).flatMap(([name, rule]) => {
    const number = syscalls[name as Syscall][column];
    const errno = errnoOf.get(rule);
    return number === null || errno === undefined ? [] : [{ name, number, errno }];
  });
  assert.ok(calls.length > 70, `${calls.length}`);
  // Arguments that mean nothing, so that a call that slipped through would fail in another way.
  const seen = await errnos(calls.map(({ number }) => [number, -1, -1, -1, -1, -1]));
  for (const [index, { name, errno }] of calls.entries()) assert.equal(seen[index], errno, name);
});

test('under the filter arguments decide', { skip: noPython }, async () => {
  const column = machines[process.arch as Machine].column;
  const { clone, ioctl, personality, prctl, setsockopt, socket, socketpair } = syscalls;
  const rows: [number[], number][] = [
    [[clone[column], 0x1000_0011], EPERM],
    [[clone[column], 0x0002_0011], EPERM],
    [[ioctl[column], -1, 0x5412], EPERM],
    [[ioctl[column], -1, 0x1_0000_5412], EPERM],
    [[ioctl[column], -1, 0x541c], EPERM],
    [[ioctl[column], -1, 0x5401], constants.errno.EBADF],
    [[ioctl[column], -1, 0x4030_5828], ENOTTY],
    [[prctl[column], 22, 2, 0], EINVAL],
    [[prctl[column], 3], 0],
    [[setsockopt[column], -1, 41, 48, 0, 0], ENOPROTOOPT],
    [[setsockopt[column], -1, 1, 2, 0, 0], constants.errno.EBADF],
    [[personality[column], 0x4_0000], EPERM],
    [[personality[column], -1], 0],
    [[socket[column], 40, 1, 0], EAFNOSUPPORT],
    [[socket[column], 38, 5, 0], EAFNOSUPPORT],
    [[socket[column], 17, 3, 0], EAFNOSUPPORT],
    [[socket[column], 1, 1, 0], 0],
    [[socket[column], 2, 1, 0], 0],
    [[socket[column], 16, 3, 0], EAFNOSUPPORT],
    [[socketpair[column], 2, 1, 0, 0], EAFNOSUPPORT],
  ];
  if (process.arch === 'x64') rows.push([[0x4000_0000 + 39], ENOSYS]);
  const seen = await errnos(rows.map(([call]) => call));
  assert.deepEqual(
    seen,
    rows.map(([, errno]) => errno),
  );
});

const not32 = noPython || (process.arch === 'x64' ? false : 'int 0x80 is of x86');
test('under the filter a call of 32-bit x86 kills the process', { skip: not32 }, async () => {
  // mov eax, 20 (getpid); int 0x80; ret. A kernel without 32-bit calls ends it by SIGSEGV instead.
  const { stdout, stderr } = await underFilter(python, [
    '-c',
    `import ctypes, mmap, os, sys
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex('b814000000cd80c3'))
pid = os.fork()
if pid == 0:
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    os._exit(0)
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))`,
  ]);
  assert.match(stdout, new RegExp(`^(${constants.signals.SIGSYS}|${constants.signals.SIGSEGV})\n$`), stderr);
});

test('Python does ordinary things under the filter', { skip: noPython }, async () => {
  const { code, stdout, stderr } = await underFilter(python, [
    '-c',
    `import asyncio, multiprocessing, socket, subprocess, tempfile, threading
threads = [threading.Thread(target=lambda: None) for _ in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(subprocess.run(['sh', '-c', 'echo from a shell | tr a-z A-Z'], capture_output=True, text=True).stdout.strip())
for method in ['fork', 'spawn', 'forkserver']:
    with multiprocessing.get_context(method).Pool(2) as pool: print(sum(pool.map(abs, [-1, -2, -3])))
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b'over loopback'); print(client.recv(100).decode())
print(socket.getaddrinfo('localhost', 80)[0][1] > 0, len(socket.socketpair()))
with tempfile.TemporaryFile() as file: file.write(b'x')
async def main():
    process = await asyncio.create_subprocess_exec('true'); return await process.wait()
print(asyncio.run(main()))`,
  ]);
  assert.deepEqual(
    [code, stdout.trim().split('\n')],
    [0, ['FROM A SHELL', '6', '6', '6', 'over loopback', 'True 2', '0']],
    stderr,
  );
});

test('Bash does ordinary things under the filter', { skip: noBwrap }, async () => {
  const { code, stdout, stderr } = await underFilter('bash', [
    '-c',
    'seq 1 1000 | sort -rn | head -n 1; cat <(echo substituted); (sleep 0 & wait); ls / | grep -c usr; kill -0 $$',
  ]);
  assert.deepEqual([code, stdout], [0, '1000\nsubstituted\n1\n'], stderr);
});

test('Node does ordinary things under the filter', { skip: noBwrap }, async () => {
  const { code, stdout, stderr } = await underFilter(process.execPath, [
    '--input-type=module',
    '-e',
    `import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { networkInterfaces } from 'node:os';
import { Worker } from 'node:worker_threads';
const worker = new Worker('import { parentPort } from "node:worker_threads"; parentPort.postMessage("from a worker")', { eval: true });
console.log((await once(worker, 'message'))[0]);
const folder = await mkdtemp('/tmp/workcrate-seccomp-');
await writeFile(folder + '/file', 'from a file');
console.log(await readFile(folder + '/file', 'utf8'));
await rm(folder, { recursive: true });
console.log(execFileSync('echo', ['from a child']).toString().trim(), (await once(spawn('true'), 'close'))[0]);
const server = createServer((_, response) => response.end('fetched')).listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(await (await fetch('http://127.0.0.1:' + server.address().port)).text());
server.closeAllConnections(); server.close();
try { networkInterfaces(); } catch (error) { console.log(error.code); }`,
  ]);
  assert.deepEqual(
    [code, stdout.trim().split('\n')],
    [0, ['from a worker', 'from a file', 'from a child 0', 'fetched', 'ERR_SYSTEM_ERROR']],
    stderr,
  );
});

/** What each call, a number and its arguments, fails with; 0 where it succeeds. */
async function errnos(calls: readonly (readonly number[])[]): Promise<number[]> {
  const { stdout, stderr } = await underFilter(python, [
    '-c',
    `import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
def errno_of(call):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(*map(ctypes.c_long, call)) == -1 else 0
print(json.dumps([errno_of(call) for call in json.loads(sys.argv[1])]))`,
    JSON.stringify(calls),
  ]);
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as number[];
}
