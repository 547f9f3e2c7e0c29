import { setTimeout as pause } from 'node:timers/promises';
import { allOf, type ServerAttack, type ServerStage } from './server-stage.testing.ts';
import { hostileNames } from '../../../src/core/artifacts/artifacts.testing.ts';

const wall = 'artifacts' as const;

/** By every way that there is to get an artifact. */
async function fetched({ server }: ServerStage, name: string): Promise<string> {
  const base64 = await server.call('get_artifact', { name, delivery: 'base64' });
  const link = await server.call('get_artifact', { name });
  const linked = link.failed ? '' : await (await fetch(link.data.downloadUrl)).text();
  const answer = await fetch(`${server.url}/local/artifacts/${encodeURIComponent(name)}`);
  const rest = (await answer.json()) as { data?: string };
  const bytes = Buffer.from(rest.data ?? '', 'base64').toString('latin1');
  return [allOf(base64), allOf(link), linked, JSON.stringify(rest), bytes].join('\n');
}

async function listed({ server }: ServerStage): Promise<string[]> {
  const { data } = await server.call('list_artifacts', {});
  const rest = (await (await fetch(`${server.url}/local/artifacts`)).json()) as { artifacts: string[] };
  return [...new Set([...(data.artifacts as string[]), ...rest.artifacts])];
}

/** Neither listed nor given. */
async function isNothing(stage: ServerStage, names: readonly string[], word: string): Promise<string | null> {
  const shown = (await listed(stage)).filter((name) => names.includes(name));
  if (shown.length > 0) return `listed: ${shown.join()}`;
  for (const name of names) if ((await fetched(stage, name)).includes(word)) return `${name} was given`;
  return null;
}

/** A program that exchanges `prey` for each of these in turn, for longer than the server is asked. */
const swapping = (folder: string, makers: readonly string[]): string => `import os, time, shutil
os.chdir('${folder}')
end = time.time() + 1.2
while time.time() < end:
${makers.map((make) => `    try:\n        ${make}\n        os.replace('new', 'prey')\n    except OSError: shutil.rmtree('prey', ignore_errors=True)`).join('\n')}`;

/** Gives files of others a second name in /artifacts by every call that there is, and by descriptors of theirs. */
const hardLinking = (secret: string): string => `import ctypes, os
libc = ctypes.CDLL(None)
paths = ['${secret}', '/etc/shadow', '/etc/passwd', '/usr/bin/env', '/proc/self/environ', '/proc/1/root${secret}']
for number, path in enumerate(paths + ['/artifacts/../' + path for path in paths]):
    for way in range(4):
        name = '/artifacts/f%d-%d' % (number, way)
        try:
            if way == 0: os.link(path, name)
            if way == 1: os.link(path, name, follow_symlinks=False)
            if way == 2: os.link('/proc/self/fd/%d' % os.open(path, os.O_PATH), name, follow_symlinks=True)
            if way == 3: libc.linkat(os.open(path, os.O_PATH), b'', -100, name.encode(), 0x1000)
        except OSError: pass`;

export const artifactAttacks: readonly ServerAttack[] = [
  {
    name: 'leaves an artifact that is a symbolic link',
    wall,
    mustNotHappen: 'what it leads to is given: a secret of the server, /etc/shadow, a folder',
    async play(stage) {
      const { file, folder, text } = stage.secret;
      await stage.run(
        `cd /artifacts; ln -s ${file} secret; ln -s /etc/shadow shadow; ln -s ${folder} folder; ln -s /proc/self/environ env; ln -s loop loop; ln -s ../../../../../../../../..${file} up`,
      );
      const names = ['secret', 'shadow', 'folder', 'env', 'loop', 'up'];
      return (await isNothing(stage, names, text)) ?? isNothing(stage, names, 'root:');
    },
  },
  {
    name: 'leaves artifacts that hang whoever opens them: a FIFO, a socket, a device',
    wall,
    mustNotHappen: 'the server waits, or lists one',
    async play(stage) {
      await stage.run(
        `cd /artifacts; mkfifo fifo; mknod whiteout c 0 0 2>/dev/null; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('socket')"; mkdir folder; echo nested > folder/file`,
      );
      return isNothing(stage, ['fifo', 'whiteout', 'socket', 'folder'], '"data"');
    },
  },
  {
    name: 'leaves an artifact that has a second name',
    wall,
    mustNotHappen: 'a hard link gives a byte that the run could not read, or a file of its own is lost by it',
    async play(stage) {
      const { file, text } = stage.secret;
      await stage.run(
        'echo twice-named > /artifacts/one; ln /artifacts/one /artifacts/two; mkdir -p in /artifacts/f',
      );
      const { data, failed } = await stage.beside(hardLinking(file));
      if (failed || data.exit_code !== 0) return `the attack failed: ${JSON.stringify(data)}`;
      for (const name of await listed(stage)) {
        const given = await fetched(stage, name);
        if (given.includes(text) || given.includes('root:')) return `${name} was given`;
      }
      for (const name of ['one', 'two'])
        if (!(await fetched(stage, name)).includes('twice-named')) return `${name} was not given`;
      return null;
    },
  },
  {
    name: 'exchanges an artifact for links while it is fetched',
    wall,
    mustNotHappen: 'a byte of the server is given',
    async play(stage) {
      const { file, text } = stage.secret;
      const makers = [
        "open('new', 'w').write('plain')",
        `os.symlink('${file}', 'new')`,
        "os.mkfifo('new')",
        "open('new', 'w').write('plain' * 100000)",
      ];
      const running = stage.beside(swapping('/artifacts', makers));
      let found: string | null = null;
      let turns = 0;
      for (const end = Date.now() + 1000; Date.now() < end && found === null; turns++)
        if ((await fetched(stage, 'prey')).includes(text)) found = `the secret was given, at turn ${turns}`;
      const { failed, text: words } = await running;
      return found ?? (failed ? `the attack failed: ${words}` : null);
    },
  },
  {
    name: 'exchanges folders for links while they are compared',
    wall,
    mustNotHappen: 'names of files of the server are told as its own',
    async play(stage) {
      const { folder } = stage.secret;
      const makers = ["os.mkdir('new'); open('new/plain', 'w')", `os.symlink('${folder}', 'new')`];
      const running = stage.beside(swapping('/workspace', makers));
      let found: string | null = null;
      for (const end = Date.now() + 1000; Date.now() < end && found === null;) {
        const { data } = await stage.run('true');
        if (JSON.stringify(data.artifacts).includes('secret.txt')) found = JSON.stringify(data.artifacts);
      }
      await running;
      return found;
    },
  },
  {
    name: 'exchanges the folder of an execution while the server makes it',
    wall,
    mustNotHappen: 'a folder of the server is given to the user, or code runs in it',
    async play(stage) {
      const running = stage.beside(`import os, time
end, met = time.time() + 1.7, 0
while time.time() < end:
    for name in os.listdir('/workspace'):
        if name.startswith('exec_') and not os.path.islink(name):
            try: os.rename(name, 'away-' + name); os.symlink('${stage.secret.folder}', name); met += 1
            except OSError: pass
print('met', met)`);
      let found: string | null = null;
      for (const end = Date.now() + 1400; Date.now() < end && found === null;) {
        const code = 'cat secret.txt; touch planted; pwd -P';
        const reply = await stage.server.call('execute_code', { language: 'bash', code });
        if (allOf(reply).includes(stage.secret.text)) found = 'the secret was read';
      }
      const met = /met (\d+)/.exec((await running).data.stdout)?.[1] ?? '0';
      return found ?? (Number(met) > 0 ? null : 'the attack failed: it never met a folder');
    },
  },
  {
    name: 'names artifacts by every name that the kernel allows',
    wall,
    mustNotHappen: 'a name is lost, cut, taken for another or for a command',
    async play(stage) {
      await stage.server.call('execute_code', {
        language: 'python',
        code: `import json, os, sys
for name in json.load(sys.stdin): open('/artifacts/' + name, 'w').write('of ' + name)
for name in (b'\\xff\\xfe', b'a\\x80b', b'\\xed\\xa0\\x80'): open(b'/artifacts/' + name, 'w')`,
        stdin: JSON.stringify(hostileNames),
      });
      const names = await listed(stage);
      const lost = hostileNames.filter((name) => !names.includes(name));
      if (lost.length > 0) return `not listed: ${JSON.stringify(lost)}`;
      for (const name of hostileNames) {
        const { data } = await stage.server.call('get_artifact', { name, delivery: 'base64' });
        if (Buffer.from(String(data?.data), 'base64').toString() !== `of ${name}`)
          return JSON.stringify(name);
      }
      return null;
    },
  },
  {
    name: 'asks for artifacts by paths and by the names of other users',
    wall,
    mustNotHappen: 'anything but a file of its own is given',
    async play(stage) {
      await stage.run(
        'mkdir -p /artifacts/folder; echo inside-folder > /artifacts/folder/file; echo hidden > /artifacts/.hidden',
      );
      const paths = [
        '../workspace',
        '..%2f..%2fdatabase.db',
        'folder%2ffile',
        'folder/file',
        '%2e%2e',
        '.hidden',
        '%2fetc%2fpasswd',
        '..%5c..',
        '%00',
        '%ff',
      ];
      for (const path of paths) {
        const answer = await fetch(`${stage.server.url}/local/artifacts/${path}`);
        const text = await answer.text();
        if (answer.ok || /"data"/.test(text))
          return `${path} is answered by ${answer.status} ${text.slice(0, 100)}`;
      }
      for (const user of ['1', '..', '%2e%2e', 'local%00', 'LOCAL', 'local%2f..', '*']) {
        const answer = await fetch(`${stage.server.url}/${user}/artifacts`);
        if (/folder|hidden/.test(await answer.text())) return `user ${user}`;
      }
      return null;
    },
  },
  {
    name: 'leaves a sparse file and 2,500 artifacts',
    wall,
    mustNotHappen: 'the server reads holes, or cannot list any more',
    async play(stage) {
      await stage.run(
        'cd /artifacts; truncate -s 100M sparse; python3 -c "import os\nfor n in range(2500): os.mknod(\'f%d\' % n)"',
      );
      const { code } = await stage.server.call('get_artifact', { name: 'sparse', delivery: 'base64' });
      if (code !== 'artifact_too_large') return `sparse: ${code}`;
      return (await listed(stage)).length === 2501 ? null : 'not all are listed';
    },
  },
  {
    name: 'makes 30,000 files and a tree of 500 folders in its working directory',
    wall,
    mustNotHappen: 'the comparison takes memory and time without end, or tells all names',
    async play(stage) {
      const { data } = await stage.run(
        `mkdir many; cd many; python3 -c "import os\nfor n in range(30000): os.mknod('f%d' % n)\nfor n in range(500): os.mkdir('d'); os.chdir('d')\nopen('deep', 'w')"`,
      );
      const count = data.artifacts.created.length as number;
      if (count > 1000) return `${count} names`;
      return data.artifacts.complete === false ? null : 'it is told as complete';
    },
  },
  {
    name: 'holds a lease and locks on an artifact while it is fetched',
    wall,
    mustNotHappen: 'the server waits for a lease to be broken',
    async play(stage) {
      const running = stage.beside(`import fcntl, os, signal, time
signal.signal(signal.SIGIO, signal.SIG_IGN)
held = open('/artifacts/leased', 'w'); held.write('x'); held.flush()
fcntl.flock(held, fcntl.LOCK_EX); fcntl.lockf(held, fcntl.LOCK_EX)
try: fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError: pass
time.sleep(2)`);
      let most = 0;
      for (const end = Date.now() + 1500; Date.now() < end;) {
        const began = performance.now();
        await fetched(stage, 'leased');
        most = Math.max(most, performance.now() - began);
        await pause(50);
      }
      await running;
      // The kernel breaks a lease after 45 s.
      return most > 20_000 ? `it waited for ${most} ms` : null;
    },
  },
];
