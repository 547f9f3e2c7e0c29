/**
 * The settings of `workcrate ask`: which model it works with. `settings.ts` puts them into the list of all settings; they
 * are used in `cli/ask.ts` alone.
 */
import { optionalBaseUrl, optionalText, seconds } from './kinds.ts';
import { defineSetting } from './setting.ts';

export const agentSettings = {
  endpoint: defineSetting(
    optionalBaseUrl,
    null,
    'ask: base URL of an OpenAI-compatible API, such as http://127.0.0.1:11434/v1',
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
