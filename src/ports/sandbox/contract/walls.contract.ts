import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { outcomeOf, proves, recordLimitProof, useBench, type MakeSandbox } from './harness.contract.ts';

const names = 'HOME LANG MATPLOTLIBRC PATH PYTHONHASHSEED SOURCE_DATE_EPOCH TERM TMPDIR USER'.split(' ');

/** Whether this process has CAP_SYS_RESOURCE: only a score that was set by it cannot be lowered again. */
function canKeepOomScore(): boolean {
  const rights = /^CapEff:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${rights}`) & (1n << 24n)) !== 0n;
}

export function wallsContract(make: MakeSandbox): void {
  describe('walls', () => {
    const bench = useBench(make);

    proves(bench, 'environment', 'it holds the names that are documented, in every language', async () => {
      const python = await bench.run('python', 'import os\nprint(sorted(os.environ))');
      assert.equal(python.out, `['${names.join("', '")}']\n`);
      const node = await bench.run('node', 'console.log(Object.keys(process.env).sort().join())');
      assert.equal(node.out, `${names.join()}\n`);
      // A shell adds some of its own, so what it was given is looked at. One that waited gets its date later.
      const given = `(tr '\\0' '\\n' < /proc/$$/environ; env | grep ^SOURCE_DATE_EPOCH=) | cut -d= -f1 | sort -u | paste -sd,`;
      assert.equal((await bench.run('bash', given)).out, `${names.join()}\n`);
      recordProof('D5:documented-names-only');
    });

    proves(
      bench,
      'environment',
      'home and temporary folder can be written, and the rest is fixed',
      async () => {
        const code = `set -e; touch "$HOME/x" "$TMPDIR/y"; echo "$LANG $TERM $USER"`;
        assert.equal((await bench.run('bash', code)).out, 'C.UTF-8 dumb user\n');
      },
    );

    for (const [wall, whose, files] of [
      ['environment', 'its own', '/proc/$$/environ /proc/self/environ'],
      ['host_processes', 'any', '/proc/$PPID/environ /proc/1/environ'],
    ] as const)
      proves(bench, wall, `nothing of the server’s environment can be read in ${whose} process`, async () => {
        process.env['WORKCRATE_CONTRACT_SECRET'] = 'hunter2';
        const got = await bench.run('bash', `cat ${files} 2>/dev/null | tr '\\0' '\\n'; true`);
        delete process.env['WORKCRATE_CONTRACT_SECRET'];
        assert.doesNotMatch(got.out, /hunter2|WORKCRATE/);
      });

    proves(bench, 'unprivileged', 'never uid 0, no capability, no way to get one', async () => {
      const got = await bench.run(
        'bash',
        `id -u; id -g; id -G; grep -E '^(CapEff|CapPrm|CapInh|CapAmb|NoNewPrivs)' /proc/self/status
su -c id root </dev/null 2>/dev/null; sudo -n id 2>/dev/null; python3 -c 'import os; os.setuid(0)' 2>&1 | tail -1`,
      );
      const [uid, gid, groups, ...rest] = got.out.trim().split('\n');
      assert.ok(Number(uid) > 0 && Number(gid) > 0, got.out);
      assert.ok(!groups!.split(' ').includes('0'), groups!);
      const status = rest.join('\n');
      for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'])
        assert.match(status, new RegExp(`${name}:\\t0+$`, 'm'));
      assert.match(status, /NoNewPrivs:\t1/);
      assert.doesNotMatch(status, /uid=0/);
      assert.match(status, /PermissionError|Operation not permitted|Invalid argument/);
    });

    it('every process of a run is killed before the server if the machine is out of memory', async () => {
      // Without a sandbox the first process is marked a moment after it was started.
      const read = 'sleep 0.3; cat /proc/self/oom_score_adj; (sleep 0; cat /proc/self/oom_score_adj)';
      assert.equal((await bench.run('bash', read)).out, '900\n900\n');
      const node = "console.log(require('node:fs').readFileSync('/proc/self/oom_score_adj', 'utf8').trim())";
      assert.equal((await bench.run('node', node)).out, '900\n');
      const python =
        "import os; os.fork(); print(open('/proc/self/oom_score_adj').read(), end='', flush=True)";
      assert.equal((await bench.run('python', python)).out, '900\n900\n');
      if (!canKeepOomScore()) return;
      const lowered = await bench.run(
        'bash',
        'echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj',
      );
      assert.equal(lowered.out, '900\n');
    });

    proves(bench, 'filesystem', '/workspace and /artifacts can be written and stay', async () => {
      const code =
        'echo kept > /workspace/kept-w && echo kept > /artifacts/kept-a && pwd && echo "$HOME $TMPDIR"';
      const got = await bench.run('bash', code);
      assert.deepEqual([got.out, got.err], ['/workspace\n/home/user /tmp\n', '']);
      const place = await bench.place('anna');
      assert.equal(await readFile(join(place.workspace, 'kept-w'), 'utf8'), 'kept\n');
      assert.equal(await readFile(join(place.artifacts, 'kept-a'), 'utf8'), 'kept\n');
      const again = await bench.run('bash', 'cat kept-a /workspace/kept-w', { workingDir: '/artifacts' });
      assert.equal(again.out, 'kept\nkept\n');
    });

    proves(bench, 'filesystem', '/tools and /skills can be read and not written', async () => {
      for (const name of ['tools', 'skills'] as const) {
        const code = `cat /${name}/file.txt; for f in /${name}/file.txt /${name}/new; do (echo x > $f) 2>/dev/null && echo written; done; rm -f /${name}/file.txt 2>/dev/null && echo removed; true`;
        assert.equal((await bench.run('bash', code)).out, `from /${name}`);
        assert.equal(await readFile(join(bench[name], 'file.txt'), 'utf8'), `from /${name}`);
      }
      recordProof('A11:tools-and-skills-read-only');
    });

    proves(bench, 'filesystem', 'nothing else can be written', async () => {
      const code = `for d in / /etc /usr /usr/bin /bin /lib /opt /opt/workcrate /opt/workcrate/bin /home /var /var/tmp /root /dev /proc /sys /run /mnt /srv; do
  [ -d $d ] && touch $d/written 2>/dev/null && echo "$d"; done
for f in /etc/passwd /usr/bin/python3 /opt/workcrate/bin/node /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/power/state; do (echo >> $f) 2>/dev/null && echo "$f"; done; true`;
      const got = await bench.run('bash', code);
      assert.equal(got.out, '');
    });

    proves(
      bench,
      'filesystem',
      'the host’s home, temporary files and other users are not there',
      async (t) => {
        const secret = await mkdtemp(join(tmpdir(), 'workcrate-secret-'));
        t.after(() => rm(secret, { recursive: true }));
        await writeFile(join(secret, 'file'), 'TOP-SECRET', { mode: 0o666 });
        const bert = await bench.place('bert');
        await bench.run('bash', 'echo TOP-SECRET > /workspace/mine; echo TOP-SECRET > /artifacts/mine', {
          user: 'bert',
        });
        const paths = [
          join(secret, 'file'),
          bert.workspace,
          join(bert.artifacts, 'mine'),
          bench.tools,
          homedir(),
          '/etc/shadow',
        ];
        const code = `import os
for path in ${JSON.stringify(paths)}:
    try:
        print(path, os.listdir(path) if os.path.isdir(path) else open(path).read())
    except OSError: pass
for root, dirs, files in os.walk('/workspace'): print(*files)
for root, dirs, files in os.walk('/artifacts'): print(*files)`;
        const got = await bench.run('python', code, { user: 'carl' });
        assert.doesNotMatch(got.out, /SECRET|mine|file\.txt|ssh|root:/, got.out);
        recordProof('D15:no-host-home-or-other-users');
      },
    );

    proves(bench, 'network', 'there is no interface but lo, and no route', async () => {
      const code = `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; tail -n +2 /proc/net/route`;
      assert.equal((await bench.run('bash', code)).out, 'lo\n');
    });

    proves(
      bench,
      'network',
      'nothing can be connected to, not even on the host’s loopback; its own is there',
      async (t) => {
        const server = await listening({ host: '127.0.0.1', port: 0 });
        t.after(() => server.close());
        const { port } = server.address() as AddressInfo;
        const addresses = [
          ['127.0.0.1', port],
          ['169.254.169.254', 80],
          ['192.0.2.1', 80],
          ['8.8.8.8', 53],
          ['::1', port],
        ];
        const code = `import socket
for address in ${JSON.stringify(addresses)}:
    try:
        with socket.create_connection(address, 5): print('connected', address)
    except TimeoutError: print('waited', address)
    except OSError as error: pass
try: print(socket.getaddrinfo('example.com', 80))
except OSError: print('no names')
with socket.create_server(('localhost', 0)) as own, socket.create_connection(('localhost', own.getsockname()[1]), 5):
    print('itself')`;
        assert.equal((await bench.run('python', code)).out, 'no names\nitself\n');
        recordLimitProof('network', bench);
        recordProof('D15:no-network');
      },
    );

    proves(bench, 'network', 'abstract sockets of the host are out of reach', async (t) => {
      const name = `workcrate-contract-${process.pid}-${Date.now()}`;
      const server = await listening({ path: `\0${name}` });
      t.after(() => server.close());
      const code = `import socket
s = socket.socket(socket.AF_UNIX)
try: s.connect('\\0${name}'); print('connected')
except OSError as error: print(type(error).__name__)`;
      assert.equal((await bench.run('python', code)).out, 'ConnectionRefusedError\n');
    });

    proves(bench, 'host_processes', 'no process of the host can be seen or signalled', async (t) => {
      const host = spawn('sleep', ['612.345']);
      t.after(() => host.kill('SIGKILL'));
      await once(host, 'spawn');
      const code = `import glob, os
for path in glob.glob('/proc/[0-9]*/cmdline'):
    if b'612.345' in open(path, 'rb').read(): print('seen', path)
for pid in (${host.pid}, ${process.pid}):
    try: os.kill(pid, 0); print('there', pid)
    except ProcessLookupError: pass
try: os.kill(-1, 9)
except OSError: pass`;
      const got = await bench.run('python', code);
      assert.equal(got.out, '', got.err);
      assert.equal(host.exitCode ?? host.signalCode, null);
      recordProof('D15:no-host-processes');
    });

    proves(bench, 'host_processes', 'two runs of one user do not see each other', async () => {
      const stop = new AbortController();
      const other = await bench.start('bash', 'echo up; exec sleep 612.678', { signal: stop.signal });
      const look = `grep -l "612[.]678" /proc/[0-9]*/cmdline 2>/dev/null | grep -v "/proc/$$/"; kill -KILL -1 2>/dev/null; true`;
      const seen = await bench.run('bash', look);
      assert.doesNotMatch(seen.out, /proc/);
      let up = '';
      for await (const chunk of other.stdout) {
        up += Buffer.from(chunk).toString();
        stop.abort();
      }
      assert.equal(up, 'up\n');
      await outcomeOf({ ...other, stdout: none() });
      assert.equal((await other.ended).reason, 'cancelled');
    });

    proves(bench, 'fresh', 'what a run leaves in its home, /tmp and /dev/shm is gone with it', async () => {
      const code = `ls -A "$HOME" /tmp /dev/shm /var/tmp 2>/dev/null | grep -v ':$' | grep -v '^$'
for d in "$HOME" /tmp /dev/shm; do echo left > $d/left; done; ls "$HOME"`;
      for (let i = 0; i < 3; i++) assert.equal((await bench.run('bash', code)).out, 'left\n');
    });

    proves(
      bench,
      'fresh',
      'what a run plants for interpreters in its home does not reach the next',
      async () => {
        const plant = `for f in .bashrc .profile .bash_profile .node_repl_history .npmrc; do echo 'echo planted' > "$HOME/$f"; done
p="$HOME/.local/lib/python3.$(python3 -c 'import sys; print(sys.version_info[1])')/site-packages"; mkdir -p "$p"; echo 'print("planted")' > "$p/usercustomize.py"`;
        await bench.run('bash', plant);
        assert.equal((await bench.run('python', 'print("clean")')).out, 'clean\n');
        assert.equal((await bench.run('bash', 'echo clean; python3 -c 1')).out, 'clean\n');
      },
    );

    proves(
      bench,
      'syscalls',
      'keys, tracing, mounts, namespaces and newer interfaces are refused',
      async () => {
        const got = await bench.run('python', syscalls);
        assert.equal(got.out, '', got.err);
      },
    );

    it('what is not held says why', () => {
      for (const held of Object.values(bench.sandbox.holds)) assert.ok(held === true || held.length > 10);
    });
  });
}

/** Prints the names of those that were let through, by their numbers on this machine. */
const syscalls = `
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
calls = {
    'add_key': (217 if arm else 248, b'user', b'x', b'y', 1, -4),
    'keyctl': (219 if arm else 250, 0, -3, 1),
    'request_key': (218 if arm else 249, b'user', b'x', 0, 0),
    'mount': (40 if arm else 165, b'none', b'/tmp', b'tmpfs', 0, 0),
    'umount': (39 if arm else 166, b'/tmp', 2),
    'pivot_root': (41 if arm else 155, b'/tmp', b'/tmp'),
    'unshare user': (97 if arm else 272, 0x10000000),
    'unshare mount': (97 if arm else 272, 0x00020000),
    'setns': (268 if arm else 308, 0, 0),
    'bpf': (280 if arm else 321, 0, 0, 0),
    'io_uring_setup': (425, 1, ctypes.create_string_buffer(256)),
    'userfaultfd': (282 if arm else 323, 1),
    'perf_event_open': (241 if arm else 298, ctypes.create_string_buffer(128), 0, -1, -1, 0),
    'fsopen': (430, b'tmpfs', 0),
    'open_tree': (428, -100, b'/tmp', 1),
    'ptrace': (117 if arm else 101, 0, 0, 0, 0),
}
for name, (number, *args) in calls.items():
    if libc.syscall(number, *args) != -1: print(name)
`;
import { recordProof } from '../../../../test/requirements/requirements.testing.ts';

async function listening(options: { host?: string; port?: number; path?: string }): Promise<Server> {
  const server = createServer((socket) => socket.destroy()).listen(options);
  await once(server, 'listening');
  return server;
}

async function* none(): AsyncGenerator<Uint8Array> {}
