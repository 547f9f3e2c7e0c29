/** Every outcome of the tools for packages. */
import { globSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Stage } from './stage.testing.ts';

export async function showPackages({ call, refuse, server }: Stage): Promise<void> {
  await call('list_packages', {});
  await call('install_packages', { language: 'python', names: ['alpha', 'pip'] });
  await call('list_packages', {});
  await call('install_packages', { language: 'python', names: ['alpha'] });
  await call('install_packages', { language: 'python', names: ['alpha==1.0', 'beta'] });
  await call('remove_packages', { language: 'python', names: ['beta'] });
  await call('remove_packages', { language: 'python', names: ['alpha'] });
  await call('install_packages', { language: 'python', names: ['beta'] });
  await refuse('install_packages', { language: 'python', names: ['gamma'] });
  await refuse('install_packages', { language: 'node', names: ['--help'] });
  await refuse('remove_packages', { language: 'node', names: ['left'] });
  await refuse('list_packages', { language: 'python' });
  for (const manifest of globSync(join(server.data, 'places/*/packages/python/*.json')))
    truncateSync(manifest);
  await call('list_packages', {});
}
