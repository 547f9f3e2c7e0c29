/**
 * Loads the AI SDK, which is optional: most who install Workcrate bring an agent of their own. It says how to install
 * what is missing.
 */
import type * as Sdk from 'ai';
import type * as Provider from '@ai-sdk/openai-compatible';
import { WorkcrateError } from 'workcrate/toolkit';

export interface ModelPackages {
  readonly sdk: Pick<typeof Sdk, 'jsonSchema' | 'streamText' | 'tool'>;
  readonly provider: Pick<typeof Provider, 'createOpenAICompatible'>;
}

/** The major versions that this code was written for. */
const packageNames = ['ai@7', '@ai-sdk/openai-compatible@3'];

export async function loadModelPackages(): Promise<ModelPackages> {
  try {
    const [sdk, provider] = await Promise.all([import('ai'), import('@ai-sdk/openai-compatible')]);
    // It would write on the terminal what an endpoint does not support.
    (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
    return { sdk, provider };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new WorkcrateError(
      'config_invalid',
      `ask needs packages that are not installed. Run: npm install ${packageNames.join(' ')}`,
      { cause: error },
    );
  }
}
