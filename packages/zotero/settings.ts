/** The settings of the library that documents cite from. */
import { defineSetting, optionalBaseUrl, optionalText } from 'workcrate/feature';

export const zoteroSettings = {
  zoteroLibrary: defineSetting(
    optionalText,
    null,
    'Zotero library to cite from: users/ID, groups/ID or users/0',
    { after: 'cslFolder' },
  ),
  zoteroUrl: defineSetting(
    optionalBaseUrl,
    null,
    'base of the Zotero API; default: the web API, or http://127.0.0.1:23119/api for users/0',
  ),
  zoteroKey: defineSetting(optionalText, null, 'key of the Zotero web API', { secret: true }),
};
