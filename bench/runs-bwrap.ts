import { listSystemMounts } from '../src/ports/sandbox/bubblewrap/launch.ts';
import { pauseMs, type Peer } from './runs-peer.ts';
import { bareRun, python } from './runs-ways.ts';

const nobody = 65_534;

/** Bubblewrap started for each run, as most programs use it. */
export function bubblewrapPeer(): Peer {
  const walls =
    '--unshare-all --unshare-user --disable-userns --die-with-parent --new-session --clearenv'.split(' ');
  const folders = '--proc /proc --dev /dev --tmpfs /tmp'.split(' ');
  const words = [...walls, ...listSystemMounts(), ...folders, '--', ...python.bare];
  // Never as root: from there the kernel's settings can be written.
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  return {
    name: 'bwrap, cold',
    walls:
      'never root, files, network, processes, environment; fresh for every run; no filter of syscalls, no limits',
    way: { run: () => bareRun(['bwrap', ...words], { ...user, cwd: '/' }), pauseMs },
  };
}
