/** The settings of documents. */
import { bytes, integer, list, optionalInteger, optionalText, seconds } from '../../platform/config/kinds.ts';
import { day, defineSetting, gigabyte, megabyte } from '../../platform/config/setting.ts';

export const documentSettings = {
  documentTimeout: defineSetting(
    seconds(1, 3600),
    60,
    'seconds that building a document may take, in all formats',
    { after: 'keepResults' },
  ),
  documentMemory: defineSetting(bytes, gigabyte, 'most memory of a process that builds documents'),
  documentSize: defineSetting(bytes, 4 * megabyte, 'longest text of a document, and of a bibliography'),
  maxDocuments: defineSetting(
    integer(1, 64),
    2,
    'documents built at once; further ones wait, up to ten times as many',
  ),
  documentIdle: defineSetting(
    seconds(0, day),
    60,
    'seconds after which an idle document process ends; 0: at once',
  ),
  documentEpoch: defineSetting(
    optionalInteger(0, 253_402_300_799),
    null,
    'date of all documents, in seconds since 1970: equal input then gives equal bytes',
    { aliases: ['SOURCE_DATE_EPOCH'] },
  ),
  documentFonts: defineSetting(list, [], 'folders with further fonts for PDF, such as those for Chinese'),
  pandoc: defineSetting(optionalText, null, 'a Pandoc on PATH, or its path, in place of the packaged one'),
  cslFolder: defineSetting(
    optionalText,
    null,
    'folder of citation styles (*.csl) that can be chosen by name',
  ),
};
