import type { Attack } from './attack.testing.ts';
import { controlAttacks } from './control.testing.ts';
import { escapes } from './escape.testing.ts';
import { fileAttacks } from './files.testing.ts';
import { freshAttacks } from './fresh.testing.ts';
import { fileLimitAttacks } from './limits-on-files.testing.ts';
import { kernelMemoryAttacks } from './kernel-memory.testing.ts';
import { networkAttacks } from './network.testing.ts';
import { processAttacks } from './processes.testing.ts';
import { resourceAttacks } from './resources.testing.ts';
import { sessionAttacks } from './sessions.testing.ts';
import { syscallAttacks } from './syscalls.testing.ts';
import { costlessAttacks } from './without-cost.testing.ts';

/** By theme, in the order of the scorecard. */
export const themes: Readonly<Record<string, readonly Attack[]>> = {
  'More rights': escapes,
  'Calls of the kernel': syscallAttacks,
  'Files of others': fileAttacks,
  'Files without end': fileLimitAttacks,
  Processes: processAttacks,
  'One run and another': freshAttacks,
  Network: networkAttacks,
  'Memory, processors, output': resourceAttacks,
  'Memory of the kernel': kernelMemoryAttacks,
  'What costs nothing': costlessAttacks,
  'Lies about a run': controlAttacks,
  Sessions: sessionAttacks,
};

export const attacks: readonly Attack[] = Object.values(themes).flat();
