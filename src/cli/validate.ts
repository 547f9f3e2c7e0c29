import {
  describeCrateValidation,
  toValidationAnswer,
  validateCrate,
  validationProfiles,
} from '../features/crate-validation/validate.ts';
import type { ProgramInput } from './command.ts';
import { openNamedCrate } from './open-crate.ts';
import { createInterruptSignal } from '../platform/command-line/signals.ts';
import { usageError } from '../platform/command-line/usage-error.ts';

/** `workcrate validate CRATE`: says which rules a crate breaks. Exit code 1 where it breaks a MUST. */
export async function runValidate(input: ProgramInput): Promise<number> {
  const { config, flags, words } = input;
  const profile = parseProfile(flags['profile']);
  await using opened = new AsyncDisposableStack();
  const { signal } = opened.use(createInterruptSignal());
  const { container, place } = await openNamedCrate(input, words[0]!, opened, signal);
  const answer = toValidationAnswer(
    await validateCrate({ container, place, maxMetadata: config.maxMetadata, profile, signal }),
  );
  process.stdout.write(
    flags['json'] === undefined
      ? `${describeCrateValidation(answer)}\n`
      : `${JSON.stringify(answer, null, 2)}\n`,
  );
  return answer.valid ? 0 : 1;
}

function parseProfile(given: string | undefined) {
  if (given === undefined) return null;
  const profile = validationProfiles.find((one) => one === given);
  if (profile === undefined)
    throw usageError(
      `--profile takes one of ${validationProfiles.join(', ')}, not ${JSON.stringify(given)}`,
      'validate',
    );
  return profile;
}
