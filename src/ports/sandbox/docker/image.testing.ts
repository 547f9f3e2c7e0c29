import { execFile, spawn } from 'node:child_process';
import { existsSync, globSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

/** What the contract suite calls, apart from python3 and node. */
const programs =
  'bash sh env basename cat chmod cp cut date dd dirname du echo false grep head id kill ln ls mkdir mkfifo mknod mv od paste printf ps pwd readlink rm rmdir sed seq setsid sha256sum sleep sort stat su tail tee test timeout touch tr true truncate uname unshare uniq wc which whoami yes nproc mount umount'.split(
    ' ',
  );

/** Of Python's library, what nobody needs and is large. */
const omitted = /\/(?:config-3[^/]*|test|idlelib|lib2to3|pydoc_data|ensurepip|distutils|tkinter)(?:\/|$)/;

/**
 * A root file system from files of this machine, as a tar: Bash, coreutils, Python with its library and pip, and the
 * libraries that they and Node need. No registry is asked.
 */
export async function imageTar(): Promise<{ stream: Readable } & AsyncDisposable> {
  const found = programs.flatMap((name) =>
    ['/usr/bin', '/bin']
      .map((folder) => join(folder, name))
      .filter(existsSync)
      .slice(0, 1),
  );
  const python = realpathSync('/usr/bin/python3');
  const library = globSync(`/usr/lib/${python.split('/').at(-1)}/**`).filter((path) => !omitted.test(path));
  const pip = globSync('/usr/lib/python3/dist-packages/pip{,-*}{,/**}');
  const binaries = [...found, python, ...library.filter((path) => path.endsWith('.so'))];
  const needed = await librariesOf([...binaries, process.execPath]);
  const beside = ['/etc/passwd', '/etc/group', '/etc/ld.so.cache', '/bin', '/lib'].filter(existsSync);
  const paths = new Set(
    [...found, '/usr/bin/python3', python, ...library, ...pip, ...needed, ...beside].flatMap(withLinks),
  );

  const tar = spawn('tar', ['-C', '/', '-c', '--no-recursion', '--null', '-T', '-'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  tar.stdin.end([...paths].map((path) => path.slice(1)).join('\0'));
  return {
    stream: tar.stdout,
    async [Symbol.asyncDispose]() {
      tar.kill();
    },
  };
}

async function librariesOf(binaries: readonly string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ldd', [...binaries], { maxBuffer: 64 * 1024 * 1024 }).catch(
    // Scripts among them make it fail, after it has listed the others.
    (error: unknown) => error as { stdout: string },
  );
  return [...new Set([...stdout.matchAll(/(?:=> |^\t)(\/\S+) \(0x/gm)].map((match) => match[1]!))];
}

/** The path, what it leads to, and every link on the way, such as /bin. */
function withLinks(path: string): string[] {
  const parts = path.split('/');
  for (let count = 2; count <= parts.length; count++) {
    const at = parts.slice(0, count).join('/');
    if (!lstatSync(at).isSymbolicLink()) continue;
    const target = resolve(dirname(at), readlinkSync(at));
    return [at, ...withLinks(join(target, ...parts.slice(count)))];
  }
  return [path];
}
