/** The setting of the guard. */
import { optionalText } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';

export const guardSettings = {
  guard: defineSetting(
    optionalText,
    null,
    'rules that judge calls of tools: a file (YAML or JSON), or shipped for all rules that come with workcrate; default: none',
    { after: 'npm' },
  ),
};
