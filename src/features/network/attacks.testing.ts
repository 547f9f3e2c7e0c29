import type { EgressAttack } from './attack.testing.ts';
import { hostAttacks } from './attacks-hosts.testing.ts';
import { requestAttacks } from './attacks-requests.testing.ts';
import { tlsAttacks } from './attacks-tls.testing.ts';

/** Everything that was tried against the proxy, by theme, in the order of a scorecard. */
export const egressAttackThemes: Readonly<Record<string, readonly EgressAttack[]>> = {
  'Hosts and addresses': hostAttacks,
  'Requests and their borders': requestAttacks,
  'TLS in tunnels': tlsAttacks,
};

export const egressAttacks: readonly EgressAttack[] = Object.values(egressAttackThemes).flat();
