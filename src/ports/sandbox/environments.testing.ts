import { chownSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { getManifestFile, nodeNamesFolder, type PackageLanguage } from './environments.ts';
import type { Workspace } from './sandbox.ts';

let made = 0;

/** An environment with these files, as an install leaves it, which runs see from now on. Gives its id. */
function putEnvironment(
  { packages, uid }: Workspace,
  language: PackageLanguage,
  files: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>> = {},
  modules: readonly string[] = [],
): string {
  const id = (++made).toString(16).padStart(12, '0');
  const folder = join(packages!, language, id);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o755 });
    writeFileSync(join(folder, name), text, { mode: 0o755 });
  }
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o755 });
    symlinkSync(target, join(folder, name));
  }
  writeFileSync(getManifestFile(packages!, language, id), JSON.stringify({ bytes: 1000, modules }));
  if (uid !== null) chownSync(folder, uid, uid);
  const link = join(packages!, language, 'next');
  symlinkSync(id, link);
  renameSync(link, join(packages!, language, 'current'));
  return id;
}

/** One of Python with these modules; it runs itself, too. */
export function putPythonModules(
  place: Workspace,
  runtime: string | null,
  modules: Readonly<Record<string, string>>,
  commands: Readonly<Record<string, string>> = {},
): string {
  const [, version] = /^Python (\d+\.\d+)/.exec(runtime ?? '') ?? [];
  const site = `lib/python${version}/site-packages`;
  const files = Object.entries(modules).map(([name, text]) => [join(site, name), text]);
  const config = 'home = /usr/bin\ninclude-system-site-packages = true\n';
  const own = {
    'pyvenv.cfg': config,
    'bin/hello-there': '#!/bin/sh\necho hello from a package\n',
    ...commands,
  };
  return putEnvironment(
    place,
    'python',
    { ...own, ...Object.fromEntries(files) },
    { 'bin/python3': '/usr/bin/python3' },
    Object.keys(modules).map((name) => name.split(/[/.]/)[0]!),
  );
}

/** One of Node with these packages, each a CommonJS module of one file. */
export function putNodePackages(place: Workspace, packages: Readonly<Record<string, string>>): string {
  const files = Object.entries(packages).flatMap(([name, text]) => [
    [`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'main.js' })],
    [`node_modules/${name}/main.js`, text],
  ]);
  for (const name of Object.keys(packages)) {
    const top = name.split('/')[0]!;
    try {
      symlinkSync(`/packages/node/current/node_modules/${top}`, join(place.packages!, nodeNamesFolder, top));
    } catch {
      // An earlier one has it too.
    }
  }
  return putEnvironment(place, 'node', Object.fromEntries(files));
}
