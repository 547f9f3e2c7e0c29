/** The settings of saved scripts. */
import { bytes, integer } from '../../platform/config/kinds.ts';
import { defineSetting, megabyte } from '../../platform/config/setting.ts';

export const scriptSettings = {
  scriptsUser: defineSetting(integer(1, 100_000), 500, 'saved scripts that a user may keep', {
    after: 'sessionIdle',
  }),
  scriptsUserBytes: defineSetting(
    bytes,
    64 * megabyte,
    'most bytes of code in all versions of the scripts of one user',
  ),
};
