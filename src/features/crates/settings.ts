/** The settings of crates. */
import {
  bytes,
  choiceFrom,
  integer,
  list,
  optionalText,
  optionalUrl,
  seconds,
} from '../../platform/config/kinds.ts';
import { day, defineSetting, megabyte } from '../../platform/config/setting.ts';

export const crateSettings = {
  crateSources: defineSetting(
    list,
    [],
    'where crates are found: file:///…, s3://bucket/prefix or azure://container/prefix, separated by commas',
    { after: 'keepResults' },
  ),
  packTo: defineSetting(
    optionalText,
    null,
    'where packed crates go: a URL as in --crate-sources, and itself a source; default: crates/ beside the files in the store of --storage s3 or azure, else in the data folder',
  ),
  crateInterval: defineSetting(
    seconds(0, day),
    300,
    'seconds between checks of the crate sources, the first at the start; 0: only when asked',
  ),
  crateDownloadLimitMb: defineSetting(integer(0, 1e6), 50, 'largest crate given as base64, in MB of 1024²', {
    aliases: ['ROC_MCP_DOWNLOAD_SIZE_LIMIT_MB'],
  }),
  maxMetadata: defineSetting(bytes, 128 * megabyte, 'largest ro-crate-metadata.json that is read'),
  semantics: defineSetting(
    choiceFrom('hash', 'endpoint', 'off'),
    'hash',
    'semantic search of crates: hash, which needs no model; endpoint, an embeddings API; off',
  ),
  embeddingsUrl: defineSetting(optionalUrl, null, 'endpoint: URL of an OpenAI-compatible embeddings API', {
    secret: true,
  }),
  embeddingsModel: defineSetting(optionalText, null, 'endpoint: name of the model'),
  embeddingsKey: defineSetting(optionalText, null, 'endpoint: key that the API asks for', { secret: true }),
};
