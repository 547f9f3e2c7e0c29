import type { ServerConfig as Config } from '../server/settings.ts';
import { createRegistries, findNpmFolder, type PackageLanguage } from '../features/packages/packages.ts';
import type { Sandbox } from '../ports/sandbox/sandbox.ts';
import { isWorkcrateError } from '../platform/errors.ts';
import type { Finding } from '../core/command.ts';

/** What users can install for their runs, and from where. No registry is asked. */
export async function checkPackages(sandbox: Sandbox, config: Config): Promise<Finding[]> {
  if (!config.packages)
    return [
      { state: 'note', what: 'users cannot install packages: that is switched off (--packages false)' },
    ];
  return [await checkPip(sandbox, config), await checkNpm(sandbox, config)];
}

async function checkPip(sandbox: Sandbox, config: Config): Promise<Finding> {
  const version = (await sandbox.pythonDistributions()).get('pip');
  if (version !== undefined) return describeRegistry(config, 'python', `pip ${version}`);
  const remedy =
    sandbox.kind === 'docker'
      ? 'Install pip in the image that code runs in'
      : 'apt-get install python3-pip, or the same by the means of your Python';
  return { state: 'note', what: 'Python packages cannot be installed: there is no pip', remedy };
}

async function checkNpm({ languages }: Sandbox, config: Config): Promise<Finding> {
  if (languages.includes('node') && findNpmFolder(config.npm) !== null)
    return describeRegistry(config, 'node', config.npm!);
  return {
    state: 'note',
    what: `Node packages cannot be installed: ${config.npm === null ? 'there is no npm' : `${config.npm} cannot be used`}`,
    remedy: 'Name another with --npm: npm-cli.js of an npm that brings its own packages, as those of Node do',
  };
}

const languageTitles = { python: 'Python', node: 'Node' };

async function describeRegistry(config: Config, language: PackageLanguage, by: string): Promise<Finding> {
  const { packagesHosts: hosts, packagesAllow: allow } = config;
  const registries = createRegistries({ ...config, hosts, npm: findNpmFolder(config.npm) });
  try {
    const found = await registries.find(language);
    const which = allow.length === 0 ? '' : `; allowed: ${allow.join(', ')}`;
    return {
      state: 'ok',
      what: `${languageTitles[language]} packages can be installed from ${found.title} (${by}${which})`,
    };
  } catch (error) {
    if (!isWorkcrateError(error)) throw error;
    return {
      state: 'note',
      what: `${languageTitles[language]} packages cannot be installed`,
      remedy: error.message,
    };
  }
}
