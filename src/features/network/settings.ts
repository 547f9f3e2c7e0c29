/** The settings of the network that runs reach by the proxy. */
import { list, optionalText, trueOrFalse } from '../../platform/config/kinds.ts';
import { defineSetting } from '../../platform/config/setting.ts';

export const networkSettings = {
  networkSecrets: defineSetting(
    optionalText,
    null,
    'file of secrets that the proxy adds for their hosts, so that no run has them',
    { after: 'sandboxNetwork' },
  ),
  networkTls: defineSetting(
    trueOrFalse,
    false,
    'end TLS in the proxy for hosts that have a secret, with a certificate that only runs trust',
  ),
  networkAddresses: defineSetting(
    list,
    [],
    'names that lead to an address of your choice, also a private one: HOST=ADDRESS:PORT',
  ),
};
