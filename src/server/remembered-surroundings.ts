/**
 * What the sandbox of the last start had, in the file `surroundings.json` of the data folder: a client over stdio is told
 * about the tools before the sandbox of this start was asked (decision 036). It is never needed: without it, or where it
 * is out of date, the client is told later.
 */
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ServerConfig as Config } from './settings.ts';
import { getErrno } from '../platform/errors.ts';
import type { Surroundings } from '../core/runs/surroundings.ts';
import { packageVersion } from '../platform/version.ts';

const shortText = z.string().max(4096);

const surroundingsSchema: z.ZodType<Surroundings> = z.strictObject({
  kind: z.enum(['bubblewrap', 'docker', 'subprocess']),
  hasNetwork: z.boolean(),
  allowedHosts: shortText.nullable(),
  canInstall: z.boolean(),
  memoryBytes: z.number().nullable(),
  python: z
    .strictObject({
      version: shortText,
      packages: z.record(shortText, shortText.nullable()),
      isDebian: z.boolean(),
    })
    .nullable(),
  folders: z
    .strictObject({
      workspace: shortText,
      artifacts: shortText,
      tools: shortText.nullable(),
      skills: shortText.nullable(),
    })
    .nullable(),
});

const fileSchema = z.strictObject({ settings: z.string(), surroundings: surroundingsSchema.nullable() });

const maxFileBytes = 64 * 1024;

const getFile = (data: string): string => join(data, 'surroundings.json');

/** The settings that decide what code finds; what was found with others is not used. */
function describeSettings(config: Config): string {
  const { sandbox, sandboxNetwork, packages, runMemory, python, executorImage, placesDir, auth } = config;
  const decisive = { sandbox, sandboxNetwork, packages, runMemory, python, executorImage, placesDir };
  return JSON.stringify({ version: packageVersion, ...decisive, several: auth.length > 0 });
}

/** What the last start with these settings found; null where that is not known, or no code could be run. */
export function recallSurroundings(config: Config): Surroundings | null {
  try {
    if (statSync(getFile(config.data)).size > maxFileBytes) return null;
    const { data } = fileSchema.safeParse(JSON.parse(readFileSync(getFile(config.data), 'utf8')));
    return data?.settings === describeSettings(config) ? data.surroundings : null;
  } catch (error) {
    if (error instanceof SyntaxError || getErrno(error) !== null) return null;
    throw error;
  }
}

/** Keeps what this start found, whole or not at all, in a data folder that this process has locked. */
export function rememberSurroundings(config: Config, surroundings: Surroundings | null): void {
  const file = getFile(config.data);
  const text = `${JSON.stringify({ settings: describeSettings(config), surroundings })}\n`;
  try {
    writeFileSync(`${file}.part`, text, { mode: 0o600 });
    renameSync(`${file}.part`, file);
  } catch (error) {
    // A full disk must not keep the server from starting.
    if (!['ENOSPC', 'EDQUOT', 'EROFS'].includes(getErrno(error) ?? '')) throw error;
  }
}
