import { join } from 'node:path';

const nowhere = '/nowhere';

/** Nobody can listen there. */
const nobody = 'http://127.0.0.1:0';

/**
 * The environment of the compiler. Node's own permissions do not hold for native code, so its walls are bubblewrap's.
 * Where there are none, this keeps it from the network, which it asks for packages: by a proxy, where one is set, and
 * for what it finds in the caches of the user.
 */
export const offline: Readonly<Record<string, string>> = {
  http_proxy: nobody,
  https_proxy: nobody,
  all_proxy: nobody,
  FONTCONFIG_FILE: join(import.meta.dirname, '../../../src/documents/typst/no-fonts.conf'),
  HOME: nowhere,
  XDG_CACHE_HOME: nowhere,
  XDG_CONFIG_HOME: nowhere,
  XDG_DATA_HOME: nowhere,
};
