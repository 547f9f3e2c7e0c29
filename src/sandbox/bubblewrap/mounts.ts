import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { insideFolder } from '../inside-folder.ts';
import type { Place } from '../sandbox.ts';

/** What of the host is seen inside, and where. */
export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly writable: boolean;
}

export interface MountOptions {
  readonly place: Place;
  readonly tools: string | null;
  readonly skills: string | null;
  /** Where Python lives when that is not below /usr, else null. */
  readonly pythonPrefix: string | null;
}

/** What programs of /usr look for in /etc. Nothing there is a secret, and none has to exist. */
const harmless = [
  'alternatives',
  'fonts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'mime.types',
  'perl',
  'python3',
  'python3.11',
  'ssl/certs',
  'timezone',
];

export function mountsOf({ place, tools, skills, pythonPrefix }: MountOptions): Mount[] {
  const readOnly = (source: string, target: string): Mount => ({ source, target, writable: false });
  const writable = (source: string, target: string): Mount => ({ source, target, writable: true });
  return [
    ...harmless
      .map((name) => `/etc/${name}`)
      .filter((path) => existsSync(path))
      .map((path) => readOnly(path, path)),
    ...['group', 'hosts', 'nsswitch.conf', 'passwd'].map((name) =>
      readOnly(`${insideFolder}/etc/${name}`, `/etc/${name}`),
    ),
    readOnly(insideFolder, '/opt/workcrate/inside'),
    readOnly(process.execPath, '/opt/workcrate/bin/node'),
    ...(pythonPrefix === null ? [] : [readOnly(pythonPrefix, pythonPrefix)]),
    ...(tools === null || !existsSync(tools) ? [] : [readOnly(tools, '/tools')]),
    ...(skills === null || !existsSync(skills) ? [] : [readOnly(skills, '/skills')]),
    writable(place.workspace, '/workspace'),
    writable(place.artifacts, '/artifacts'),
  ];
}

/** The programs of the host: /usr, and the folders beside it as links or folders, as the host has them. */
export function systemArguments(): string[] {
  const beside = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].map((name) => `/${name}`);
  return ['--ro-bind', '/usr', '/usr', ...beside.filter((path) => existsSync(path)).flatMap(asOnHost)];
}

function asOnHost(path: string): string[] {
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path];
}
