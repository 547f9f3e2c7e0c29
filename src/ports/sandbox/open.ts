/**
 * The list of sandbox backends. Each is imported only where it is asked for, and the one without walls only where the
 * operator has allowed it by name. It sets no limits: those come from the settings.
 */
import { WorkcrateError } from '../../platform/errors.ts';
import type { Sandbox, SandboxOptions } from './sandbox.ts';

export interface OpenOptions extends SandboxOptions {
  readonly kind: 'bubblewrap' | 'docker' | 'subprocess';
  /** Backends without walls that the operator has allowed by name. */
  readonly allowed: readonly string[];
  readonly python: string | null;
  readonly docker: { readonly socket: string; readonly image: string; readonly runtime: string | null };
  /** Tells the containers of this server from those of others. */
  readonly instance: string;
}

/** Every backend. Each is imported on demand. */
export async function openSandbox(options: OpenOptions): Promise<Sandbox> {
  switch (options.kind) {
    case 'bubblewrap': {
      const { bubblewrapSandbox } = await import('./bubblewrap/bubblewrap.ts');
      return bubblewrapSandbox(options);
    }
    case 'docker': {
      const { dockerSandbox } = await import('./docker/docker.ts');
      return dockerSandbox({ ...options, ...options.docker });
    }
    case 'subprocess': {
      checkKindAllowed('subprocess', options.allowed);
      options.log.warn('sandbox.no_walls', {
        message:
          'Code runs without walls: it can read this machine and reach the network (--sandbox subprocess).',
      });
      const { subprocessSandbox } = await import('./subprocess.ts');
      return subprocessSandbox(options);
    }
  }
}

/** Refuses a backend without walls that is not allowed by its name. */
export function checkKindAllowed(kind: string, allowed: readonly string[]): void {
  if (kind !== 'subprocess' || allowed.includes(kind)) return;
  throw new WorkcrateError(
    'config_invalid',
    'The subprocess backend has no walls: code runs with the permissions of a user of this machine. If you want that, add --allow-sandbox subprocess.',
  );
}
