import type { Attack } from './attack.testing.ts';
import type { Scene } from './scene.testing.ts';

const python = 'python' as const;
const quoted = (values: readonly string[]): string => JSON.stringify(values);
const secretFiles = ({ files }: Scene): string => quoted([files.data, files.home]);
const openFolders = ({ open }: Scene): string => quoted([...Object.values(open), '/tools', '/skills']);

/** Files of the host, of the server and of other users. */
export const fileAttacks: readonly Attack[] = [
  {
    name: "reads the server's data and a home folder by their paths",
    wall: 'filesystem',
    mustNotHappen: 'a secret of the host is read',
    withoutWalls: 'through',
    language: python,
    code: (scene) => `for path in ${secretFiles(scene)}:
    attempt(path, lambda: print(open(path).read()))`,
  },
  {
    name: 'reads them from Node and from Bash',
    wall: 'filesystem',
    mustNotHappen: 'a secret of the host is read',
    withoutWalls: 'through',
    language: 'node',
    code: (scene) => `for (const path of ${secretFiles(scene)}) {
  try { through(fs.readFileSync(path, 'latin1')); } catch {}
  try { console.log(require('node:child_process').execFileSync('bash', ['-c', 'cat "$1"; echo "$(<$1)"', 'x', path]).toString()); } catch {}
}`,
  },
  {
    name: 'reads them through the root and the working directory of every process',
    wall: 'filesystem',
    mustNotHappen: 'a secret of the host is read',
    withoutWalls: 'through',
    language: python,
    code: (scene) => `for pid in os.listdir('/proc'):
    if not pid.isdigit(): continue
    for way in ('root', 'cwd', 'cwd/../../../../../../..', 'root/..'):
        for path in ${secretFiles(scene)}:
            attempt('by %s of %s' % (way, pid), lambda: print(open('/proc/%s/%s%s' % (pid, way, path)).read()))`,
  },
  {
    name: 'climbs out of its root by dots and open folders',
    wall: 'filesystem',
    mustNotHappen: 'a secret of the host is read',
    withoutWalls: 'through',
    language: python,
    code: (scene) => `for path in ${secretFiles(scene)}:
    for start in ('/', '.', '/tmp', '/proc/self/root', '/proc/self/fd', '/dev/pts'):
        attempt('from ' + start, lambda: print(open(start + '/..' * 40 + path).read()))
        folder = os.open(start, os.O_RDONLY)
        attempt('by folder', lambda: print(os.read(os.open('../' * 40 + path[1:], os.O_RDONLY, dir_fd=folder), 200)))
    os.chdir('/'); os.chdir('..'); attempt('by ..', lambda: print(open('..' + path).read()))`,
  },
  {
    name: 'plants links to them and reads those',
    wall: 'filesystem',
    mustNotHappen: 'a secret of the host is read through a symbolic link',
    withoutWalls: 'through',
    language: python,
    code: (
      scene,
    ) => `for number, path in enumerate(${secretFiles(scene)} + ['/etc/shadow', '/root', '/proc/1/root/etc/shadow']):
    os.symlink(path, 'link%d' % number)
    attempt(path, lambda: print(open('link%d' % number).read()))
    attempt(path, lambda: os.listdir('link%d' % number))`,
  },
  {
    name: 'makes hard links to files of others',
    wall: 'filesystem',
    mustNotHappen: "the server's or another user's file gets a second name",
    withoutWalls: 'held',
    language: python,
    code: (
      scene,
    ) => `for path in ${quoted(Object.values(scene.files))} + ['/etc/passwd', '/usr/bin/env', '/etc/shadow']:
    for name in ('hard', '../artifacts/hard', os.environ['TMPDIR'] + '/hard'):
        attempt(path, lambda: os.link(path, name))
        attempt(path, lambda: os.link(path, name, follow_symlinks=False))
        attempt(path, lambda: os.link('/proc/self/fd/%d' % os.open(path, os.O_PATH), name, follow_symlinks=True))
        attempt(path, lambda: libc.linkat(os.open(path, os.O_PATH), b'', -100, name.encode(), 0x1000) == 0)`,
  },
  {
    name: "reads another user's workspace and artifacts",
    wall: 'filesystem',
    mustNotHappen: 'a file of bob is read, listed or written',
    withoutWalls: 'held',
    before: { language: 'bash', user: 'bob', code: 'echo kept > ../artifacts/result; ls' },
    language: python,
    code: (scene) => `import glob
for path in ${quoted([scene.places.bob.workspace, scene.places.bob.artifacts])}:
    for way in [path] + glob.glob('/proc/[0-9]*/root' + path) + ['../..' + path, '/proc/self/cwd/../../bob/workspace', '../../bob/workspace', '../../bob/artifacts']:
        attempt('listed ' + way, lambda: os.listdir(way))
        attempt('read ' + way, lambda: print(open(way + '/private.txt').read()))
        attempt('read ' + way, lambda: print(open(way + '/result').read()))
        attempt('wrote ' + way, lambda: open(way + '/planted', 'w'))`,
  },
  {
    name: 'looks for anything of bob by his name and his number',
    wall: 'filesystem',
    mustNotHappen: 'a file that belongs to another user of the sandbox is found anywhere',
    withoutWalls: 'either',
    language: 'bash',
    code: ({
      secrets,
      places,
    }) => `found=$(find / -maxdepth 5 -xdev \\( -path /proc -o -path /usr -o -path /sys \\) -prune -o \\( -uid ${places.bob.uid ?? 4242424} -o -name private.txt \\) -print -quit 2>/dev/null)
[ -n "$found" ] && through "found $found"
[ -n "$found" ] || grep -rlF "${secrets.bob.slice(0, 20)}""${secrets.bob.slice(20)}" /home /run /opt /srv /mnt /workspace /artifacts 2>/dev/null | while read -r found; do through "read $found"; done`,
  },
  {
    name: 'reads passwords, keys and settings of the host',
    wall: 'filesystem',
    mustNotHappen: 'shadow, host keys, logs or homes are seen',
    withoutWalls: 'either',
    language: python,
    code: `import glob
for path in ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/machine-id', '/etc/fstab', '/etc/environment', '/etc/crontab', '/var/log', '/var/lib', '/var/run', '/root', '/boot', '/srv', '/mnt', '/run/dbus', '/run/docker.sock', '/var/run/docker.sock', '/run/user', '/run/systemd'] + glob.glob('/etc/ssh/*') + glob.glob('/etc/ssl/private/*'):
    if os.path.isdir(path): attempt(path, lambda: bool(os.listdir(path)))
    else: attempt(path, lambda: open(path).read(1))
for name in os.listdir('/home') if os.path.isdir('/home') else []:
    if name != 'user': through('/home/' + name)
for path in ('~/.ssh', '~/.aws', '~/.gnupg', '~/.config', '~/.netrc', '~/.bash_history', '~root/.ssh'):
    attempt(path, lambda: os.stat(os.path.expanduser(path)))`,
  },
  {
    name: 'writes wherever it may',
    wall: 'filesystem',
    mustNotHappen: 'a file is made outside of its own folders',
    withoutWalls: 'through',
    language: python,
    code: (
      scene,
    ) => `own = ('/workspace', '/artifacts', '/tmp', '/home/user', '/dev/shm', '/proc', '/dev/pts', '/dev/mqueue', os.getcwd(), os.path.realpath('../artifacts'), os.environ['HOME'], os.environ['TMPDIR'])
for folder, folders, names in os.walk('/'):
    if any(folder == path or folder.startswith(path + '/') for path in own): folders[:] = []; continue
    if folder.count('/') > 4: folders[:] = []
    if os.access(folder, os.W_OK): attempt(folder, lambda: (os.mknod(folder + '/' + MARK), os.unlink(folder + '/' + MARK)))
for folder in ${openFolders(scene)}: attempt(folder, lambda: open(folder + '/planted', 'w'))`,
  },
  {
    name: 'changes the tools, the skills and the programs',
    wall: 'filesystem',
    mustNotHappen: 'something that is read-only is written, renamed, removed or given other rights',
    withoutWalls: 'through',
    language: python,
    code: (scene) => `for folder in ${openFolders(scene)}:
    path = folder + '/readme.txt'
    attempt(path, lambda: open(path, 'a').write('changed'))
    attempt(path, lambda: os.chmod(path, 0o700))
    attempt(path, lambda: os.utime(path, (1, 1)))
    attempt(path, lambda: os.truncate(path, 0))
    attempt(path, lambda: os.setxattr(path, 'user.planted', b'x'))
    attempt(path, lambda: os.rename(path, folder + '/other.txt'))
    attempt(path, lambda: os.symlink('/etc/shadow', folder + '/link'))
    attempt(path, lambda: os.unlink(path))
for path in ('/usr', '/bin', '/lib', '/etc', '/etc/passwd', '/opt', '/opt/workcrate', '/opt/workcrate/bin/node', '/opt/workcrate/inside/forkserver.py', '/', '/dev', '/run'):
    if not os.path.exists(path): continue
    mode = stat.S_IMODE(os.stat(path).st_mode)
    attempt(path, lambda: os.chmod(path, mode))
    attempt(path, lambda: os.rename(path, path + '.away'))
    if os.path.isdir(path): attempt(path, lambda: open(path + '/planted', 'w'))
    else: attempt(path, lambda: open(path, 'r+'))`,
  },
  {
    name: 'uses descriptors that were left open to it',
    wall: 'filesystem',
    mustNotHappen: 'it has more than its input and its two outputs',
    withoutWalls: 'through',
    language: 'bash',
    code: `for at in /proc/$$/fd/*; do n=\${at##*/}; [ "$n" -gt 2 ] && [ "$n" -ne 255 ] && [ -e "$at" ] && [[ $(readlink $at) != /memfd:* ]] && through "descriptor $n: $(readlink $at)"; done
for n in 9 300; do [ -e /proc/self/fd/$n/. ] && through "a folder of the host is open: $(ls /proc/self/fd/$n/ | head -3 | tr '\\n' ' ')"; done
for n in 0 1 2; do [ -d /proc/$$/fd/$n ] && through "descriptor $n is a folder"; cat /proc/$$/fd/$n/../../../etc/shadow 2>/dev/null && through shadow; done`,
  },
  {
    name: 'uses descriptors that were left open to it, in Python and Node',
    wall: 'filesystem',
    mustNotHappen: 'one of them is a folder or a file of the host',
    withoutWalls: 'through',
    language: python,
    code: `look = r"""
for (const name of require('fs').readdirSync('/proc/self/fd')) {
  try { const to = require('fs').readlinkSync('/proc/self/fd/' + name); if (to.startsWith('/') && !to.startsWith('/dev/') && !to.startsWith('/proc/') && !to.startsWith('/memfd:') && Number(name) > 2) console.log('THROUGH node holds ' + to); } catch {}
}"""
for name in os.listdir('/proc/self/fd'):
    try: to = os.readlink('/proc/self/fd/' + name)
    except OSError: continue
    # Its own code may be in a file of memory, and what it reports goes to a pipe.
    if name == '4' and to.startswith('pipe:'): continue
    if int(name) > 2 and not to.startswith(('/proc/', '/memfd:')): through('descriptor %s: %s' % (name, to))
subprocess.run(['node', '-e', look])`,
  },
  {
    name: 'looks for the folder through which the server speaks to runs',
    wall: 'filesystem',
    mustNotHappen: 'a pipe of another run is seen',
    withoutWalls: { notRun: 'there is no such folder' },
    beside: { language: python, code: 'time.sleep(0.3)' },
    language: python,
    code: `time.sleep(0.1)
for path in ('/run/control', '/proc/1/root/run/control', '/proc/1/cwd/run/control'):
    attempt(path, lambda: bool(os.listdir(path)))
    attempt(path, lambda: open(path + '/planted', 'w'))
for folder, folders, names in os.walk('/'):
    if folder.startswith(('/proc', '/usr', '/workspace', '/artifacts', '/sys')): folders[:] = []; continue
    for name in names:
        try: found = os.lstat(folder + '/' + name)
        except OSError: continue
        if stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode): through(folder + '/' + name)`,
  },
];
