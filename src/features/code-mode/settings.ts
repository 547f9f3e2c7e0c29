/** The settings of tools that code calls. */
import { integer } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';

export const codeModeSettings = {
  toolCalls: defineSetting(integer(1, 100_000), 100, 'tools that the code of one run may call', {
    after: 'sessionIdle',
  }),
  toolCallsAtOnce: defineSetting(integer(1, 1000), 8, 'calls of tools by one run at once; more wait'),
};
