/** Registries on loopback with packages that tests make: an index of Python wheels (PEP 503), and one as npm asks for it. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { archive, type TestMember } from '../../platform/zip/unzip-archive.testing.ts';

export interface TestRegistry extends AsyncDisposable {
  /** As `--index-url` or `--registry` takes it. */
  readonly url: string;
  /** The paths that were asked for. */
  readonly asked: string[];
  /** The credentials of each; null where there were none. */
  readonly authorized: (string | null)[];
}

async function serve(
  path: string,
  answer: (path: string, response: ServerResponse, origin: string) => void,
): Promise<TestRegistry> {
  const asked: string[] = [];
  const authorized: (string | null)[] = [];
  const server = createServer((request, response) => {
    const url = decodeURIComponent(new URL(request.url!, 'http://x').pathname);
    asked.push(url);
    authorized.push(request.headers.authorization ?? null);
    answer(url, response, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    asked,
    authorized,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const digest = (kind: string, bytes: Buffer, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHash(kind).update(bytes).digest(encoding);

export interface TestWheel {
  readonly name: string;
  readonly version: string;
  /** By their paths in the wheel. */
  readonly files?: Readonly<Record<string, string>>;
  readonly requires?: readonly string[];
  /** Further members, as hostile as they like. */
  readonly members?: readonly TestMember[];
  /** In place of that of the bytes. */
  readonly sha256?: string;
  /** `sdist` has no wheel, only the sources. */
  readonly kind?: 'wheel' | 'sdist';
  /** Milliseconds before its first byte; Infinity for never. */
  readonly delayMs?: number;
}

/** A wheel for every Python, with a module of its own name unless other files are named. */
function makeWheel({ name, version, files, requires = [], members = [] }: TestWheel): Buffer {
  const info = `${name}-${version}.dist-info`;
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${name}`,
    `Version: ${version}`,
    ...requires.map((need) => `Requires-Dist: ${need}`),
  ];
  const own = {
    ...(files ?? { [`${name}/__init__.py`]: `version = "${version}"\n` }),
    [`${info}/METADATA`]: `${metadata.join('\n')}\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  };
  const names = [...Object.keys(own), ...members.map((member) => String(member.name)), `${info}/RECORD`];
  const record = names.map((path) => `${path},,\n`).join('');
  return archive([
    ...Object.entries(own).map(([path, text]) => ({ name: path, bytes: Buffer.from(text) })),
    ...members,
    { name: `${info}/RECORD`, bytes: Buffer.from(record) },
  ]);
}

const toFileName = ({ name, version, kind }: TestWheel): string =>
  kind === 'sdist' ? `${name}-${version}.tar.gz` : `${name}-${version}-py3-none-any.whl`;

/** An index that has these wheels; `failing` answers all with an error. */
export function startPythonIndex(
  wheels: readonly TestWheel[],
  { failing = false } = {},
): Promise<TestRegistry> {
  const files = new Map(wheels.map((wheel) => [toFileName(wheel), makeBytes(wheel)]));
  return serve('/simple/', (path, response) => {
    if (failing) return void response.writeHead(503).end();
    const [, wanted] = /^\/simple\/([^/]+)\/$/.exec(path) ?? [];
    const listed = wheels.filter(({ name }) => name.replaceAll('_', '-') === wanted);
    if (listed.length > 0) {
      const links = listed.map((wheel) => {
        const hash = wheel.sha256 ?? digest('sha256', files.get(toFileName(wheel))!);
        return `<a href="../../files/${toFileName(wheel)}#sha256=${hash}">${toFileName(wheel)}</a>`;
      });
      return void response.writeHead(200, { 'content-type': 'text/html' }).end(links.join('\n'));
    }
    const wheel = wheels.find((each) => path === `/files/${toFileName(each)}`);
    if (wheel === undefined) return void response.writeHead(404).end();
    const send = (): void => void response.writeHead(200).end(files.get(toFileName(wheel)));
    const { delayMs = 0 } = wheel;
    if (delayMs === 0) send();
    else if (Number.isFinite(delayMs)) setTimeout(send, delayMs);
  });
}

function makeBytes(wheel: TestWheel): Buffer {
  if (wheel.kind !== 'sdist') return makeWheel(wheel);
  const { name, version } = wheel;
  const folder = `${name}-${version}`;
  return gzipSync(
    makeTar({
      [`${folder}/PKG-INFO`]: `Metadata-Version: 1.0\nName: ${name}\nVersion: ${version}\n`,
      [`${folder}/setup.py`]: `from setuptools import setup\nsetup(name="${name}", version="${version}", py_modules=["${name}"])\n`,
      [`${folder}/${name}.py`]: 'value = "built"\n',
    }),
  );
}

export interface TestNodePackage {
  readonly name: string;
  readonly version: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  /** More of its package.json. */
  readonly more?: Readonly<Record<string, unknown>>;
  /** In place of that of the bytes. */
  readonly integrity?: string;
  readonly links?: Readonly<Record<string, string>>;
  /** Whether its tarball never comes. */
  readonly isEndless?: boolean;
}

/** A registry as npm asks for it: the description of a package, and its tarballs. */
export function startNodeRegistry(packages: readonly TestNodePackage[]): Promise<TestRegistry> {
  const tarballs = new Map(packages.map((each) => [toTarballPath(each), makeTarball(each)]));
  return serve('/', (path, response, origin) => {
    if (packages.some((each) => each.isEndless && toTarballPath(each) === path)) return;
    const tarball = tarballs.get(path);
    if (tarball !== undefined) return void response.writeHead(200).end(tarball);
    const versions = packages.filter(({ name }) => `/${name}` === path);
    if (versions.length === 0) return void response.writeHead(404).end('{}');
    const described = versions.map((each) => [each.version, describeForRegistry(each, origin)]);
    const latest = versions.at(-1)!.version;
    const answer = {
      name: versions[0]!.name,
      'dist-tags': { latest },
      versions: Object.fromEntries(described),
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
}

/** What a registry says of a version: its package.json, and where its tarball is. */
export function describeForRegistry(given: TestNodePackage, origin: string) {
  const bytes = makeTarball(given);
  const integrity = given.integrity ?? `sha512-${digest('sha512', bytes, 'base64')}`;
  const dist = { tarball: `${origin}${toTarballPath(given)}`, shasum: digest('sha1', bytes), integrity };
  return { ...describePackage(given), dist };
}

const toTarballPath = ({ name, version }: TestNodePackage): string =>
  `/${name}/-/${name.split('/').at(-1)}-${version}.tgz`;

const describePackage = ({ name, version, dependencies = {}, more = {} }: TestNodePackage) => ({
  name,
  version,
  main: 'main.js',
  dependencies,
  ...more,
});

export function makeTarball(given: TestNodePackage): Buffer {
  const { version, files = { 'main.js': `exports.version = ${JSON.stringify(version)};\n` }, links } = given;
  const own = { 'package.json': JSON.stringify(describePackage(given)), ...files };
  const named = Object.entries(own).map(([path, text]) => [`package/${path}`, text]);
  return gzipSync(makeTar(Object.fromEntries(named), links));
}

/** A tar of small files, and of links by the paths that they lead to. */
function makeTar(
  files: Readonly<Record<string, string>>,
  links: Readonly<Record<string, string>> = {},
): Buffer {
  const parts = Object.entries(files).flatMap(([path, text]) => {
    const bytes = Buffer.from(text);
    return [makeTarHeader(path, bytes.length, '0', ''), bytes, Buffer.alloc(-bytes.length & 511)];
  });
  const linked = Object.entries(links).map(([path, target]) => makeTarHeader(path, 0, '2', target));
  return Buffer.concat([...parts, ...linked, Buffer.alloc(1024)]);
}

function makeTarHeader(path: string, size: number, type: string, target: string): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, '0')}\0`;
  header.write(path, 0);
  header.write(octal(0o755, 8) + octal(0, 8) + octal(0, 8) + octal(size, 12) + octal(1_700_000_000, 12), 100);
  header.write(`        ${type}`, 148);
  header.write(target, 157);
  header.write('ustar\x0000', 257);
  header.write(
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )} `,
    148,
  );
  return header;
}
