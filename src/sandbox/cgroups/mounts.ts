/** The server's own group in one hierarchy, as a folder. */
export interface OwnGroup {
  readonly version: 1 | 2;
  /** Those of v1. In v2 the group's cgroup.controllers names them. */
  readonly controllers: readonly string[];
  readonly directory: string;
}

interface Mount {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  /** Which group of the hierarchy stands at the mount point. */
  readonly root: string;
  readonly point: string;
  readonly readOnly: boolean;
}

/**
 * Finds the server's own group in every hierarchy, from the texts of /proc/self/mountinfo and
 * /proc/self/cgroup. One that no mount shows, as in some containers, is left out.
 */
export function ownGroups(mountinfo: string, cgroup: string): OwnGroup[] {
  const mounts = cgroupMounts(mountinfo);
  return lines(cgroup).flatMap((line) => {
    const [, hierarchy = '', names = '', path = ''] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (hierarchy === '' || isOutOfSight(path)) return [];
    const controllers = names.split(',').filter((name) => name !== '');
    const version = hierarchy === '0' ? 2 : 1;
    const directory = folderOf(
      mounts.filter((mount) => mount.version === version && sameControllers(mount.controllers, controllers)),
      path,
    );
    return directory === null ? [] : [{ version, controllers, directory }];
  });
}

function cgroupMounts(mountinfo: string): Mount[] {
  return lines(mountinfo).flatMap((line) => {
    // id, parent, device, root, mount point, options, any number of tags, a dash, type, source, options
    const [before = '', after = ''] = line.split(' - ', 2);
    const [, , , root = '', point = '', options = ''] = before.split(' ');
    const [type = '', , superOptions = ''] = after.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') return [];
    return [
      {
        version: type === 'cgroup' ? 1 : 2,
        controllers: type === 'cgroup' ? superOptions.split(',') : [],
        root: unescape(root),
        point: unescape(point),
        readOnly: options.split(',').includes('ro'),
      },
    ];
  });
}

/** The options of a v1 mount hold more than its controllers (`rw`, `xattr`), but no fewer. */
function sameControllers(options: readonly string[], controllers: readonly string[]): boolean {
  return controllers.every((name) => options.includes(name));
}

/** A mount that can be written comes first; of equals the latest, which covers the others. */
function folderOf(mounts: readonly Mount[], path: string): string | null {
  const ordered = mounts.toReversed().sort((a, b) => Number(a.readOnly) - Number(b.readOnly));
  for (const { root, point } of ordered) {
    const below = root === '/' ? path : belowRoot(root, path);
    if (below !== null) return below === '/' || below === '' ? point : `${point}${below}`;
  }
  return null;
}

function belowRoot(root: string, path: string): string | null {
  return path === root || path.startsWith(`${root}/`) ? path.slice(root.length) : null;
}

/** Outside the cgroup namespace, or removed. */
function isOutOfSight(path: string): boolean {
  return path.split('/').includes('..') || path.endsWith(' (deleted)');
}

/** Space, tab, newline and backslash are written in octal. */
function unescape(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
