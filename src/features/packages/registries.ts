/**
 * Where packages come from: the registries that the operator has set, else those that pip and npm of this machine
 * use; and which hosts an install may reach because of that.
 */
import type { HostAndPort } from '../../platform/net/host-names.ts';
import type { PackageLanguage } from '../../ports/sandbox/environments.ts';
import { WorkcrateError } from '../../platform/errors.ts';
import { askNpm, askPip, unknownIndexes } from './configured.ts';
import type { MayUseUrl } from './names.ts';

export interface PackageRegistry {
  /** With the credentials that they may have. The first is the registry itself, the others are further indexes of pip. */
  readonly urls: readonly string[];
  /** All that an install may reach. */
  readonly hosts: readonly HostAndPort[];
  /** For people and models: the host, without path and credentials. */
  readonly title: string;
}

export interface RegistryOptions {
  readonly pipIndexUrl: string | null;
  readonly npmRegistry: string | null;
  /** Further hosts, as `host` or `host:port`. */
  readonly hosts: readonly string[];
  /** The Python whose pip is asked. */
  readonly python: string | null;
  /** The folder of npm, which is asked. */
  readonly npm: string | null;
}

export interface Registries {
  /** Asks the machine once, at the first use. */
  find(language: PackageLanguage): Promise<PackageRegistry>;
  /** Whether a package may be had from this URL: only from hosts that an install may reach anyway. */
  allowUrl(registry: PackageRegistry): MayUseUrl;
}

export function createRegistries(options: RegistryOptions): Registries {
  const further = options.hosts.map(parseHost);
  const known = new Map<PackageLanguage, Promise<PackageRegistry>>();
  const find = async (language: PackageLanguage): Promise<PackageRegistry> => {
    const { urls, fileHosts } =
      language === 'python' ? await findIndexes(options) : await findNpmRegistry(options);
    if (urls.length === 0) throw unknownRegistryError(language);
    const own = urls.map(toHostAndPort);
    return { urls, hosts: [...own, ...fileHosts.map(parseHost), ...further], title: own[0]!.host };
  };
  return {
    find(language) {
      const found = known.get(language) ?? find(language);
      known.set(language, found);
      return found;
    },
    allowUrl:
      ({ hosts }) =>
      (url) => {
        const { host, port } = toHostAndPort(url.href);
        return hosts.some((each) => each.host === host && each.port === port);
      },
  };
}

/** The registry with further indexes, and hosts from which their files come. */
interface FoundRegistry {
  readonly urls: readonly string[];
  readonly fileHosts: readonly string[];
}

async function findIndexes({ pipIndexUrl, python }: RegistryOptions): Promise<FoundRegistry> {
  const known = python === null ? unknownIndexes : await askPip(python);
  const urls = pipIndexUrl === null ? [known.index, ...known.extra] : [pipIndexUrl];
  const found = [...new Set(urls.filter((url) => url !== null))];
  // pip knows where its own index has its files; of others nobody can tell.
  const isPublic = known.standard !== null && found.includes(known.standard.index);
  return { urls: found, fileHosts: isPublic ? [known.standard!.fileHost] : [] };
}

async function findNpmRegistry({ npmRegistry, npm }: RegistryOptions): Promise<FoundRegistry> {
  const url = npmRegistry ?? (npm === null ? null : await askNpm(npm));
  return { urls: url === null ? [] : [url], fileHosts: [] };
}

const unknownRegistryError = (language: PackageLanguage): WorkcrateError =>
  new WorkcrateError(
    'unsupported',
    language === 'python'
      ? 'Nobody knows where Python packages come from: the pip of this machine does not tell. The operator can set --pip-index-url.'
      : 'Nobody knows where Node packages come from: there is no npm on this machine that tells. The operator can set --npm-registry.',
  );

function toHostAndPort(address: string): HostAndPort {
  const { hostname, port, protocol } = new URL(address);
  return { host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/** `host` is for HTTPS. */
const parseHost = (text: string): HostAndPort =>
  toHostAndPort(/:\d+$/.test(text) ? `http://${text}` : `https://${text}`);

/** The hosts that are spoken to without TLS, which pip has to be told. */
export const listPlainHosts = ({ urls }: PackageRegistry): string[] =>
  urls.filter((url) => url.startsWith('http:')).map((url) => new URL(url).host);

/** npm takes credentials from a file only: a user and a password, or without a user a token. */
export function splitNpmCredentials(registry: string): { readonly registry: string; readonly npmrc: string } {
  const url = new URL(registry);
  const { username, password } = url;
  if (username === '' && password === '') return { registry, npmrc: '' };
  url.username = url.password = '';
  const place = `//${url.host}${url.pathname.replace(/\/*$/, '/')}`;
  const [user, secret] = [decodeURIComponent(username), decodeURIComponent(password)];
  const pair = Buffer.from(`${user}:${secret}`).toString('base64');
  const line = user === '' ? `${place}:_authToken=${secret}` : `${place}:_auth=${pair}`;
  return { registry: url.href, npmrc: `${line}\n` };
}
