/** The settings of `workcrate ask`: which model it works with. */
import { optionalBaseUrl, optionalText, seconds } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';

export const askSettings = {
  endpoint: defineSetting(
    optionalBaseUrl,
    null,
    'ask: base URL of an OpenAI-compatible API, such as http://127.0.0.1:11434/v1',
    { after: 'clientTimeout' },
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
