/** The settings of `workcrate ask`: which model it works with. */
import { defineSetting, optionalBaseUrl, optionalText, seconds, type KnownConfig } from 'workcrate/feature';

export const askSettings = {
  endpoint: defineSetting(
    optionalBaseUrl,
    null,
    'ask: base URL of an OpenAI-compatible API, such as http://127.0.0.1:11434/v1',
    { after: 'clientCacheFiles' },
  ),
  model: defineSetting(optionalText, null, 'ask: name of the model at the endpoint'),
  apiKey: defineSetting(
    optionalText,
    null,
    'ask: key of the endpoint; the variable is safer, since other users can see the command line',
    { secret: true },
  ),
  endpointTimeout: defineSetting(
    seconds(1, 3600),
    120,
    'ask: seconds that the endpoint may say nothing in the middle of an answer',
  ),
};

/** What it reads of all settings: its own, and where the server has further groups of tools. */
export type AskConfig = KnownConfig<typeof askSettings> & { readonly toolRoutes: string | null };
