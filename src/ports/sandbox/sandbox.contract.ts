import { describe } from 'node:test';
import { driversContract } from './contract/drivers.contract.ts';
import { endingContract } from './contract/ending.contract.ts';
import type { MakeSandbox } from './contract/harness.contract.ts';
import { languagesContract } from './contract/languages.contract.ts';
import { limitsContract } from './contract/limits.contract.ts';
import { networkContract } from './contract/network.contract.ts';
import { outputContract } from './contract/output.contract.ts';
import { packagesContract } from './contract/packages.contract.ts';
import { placesContract } from './contract/places.contract.ts';
import { queueContract } from './contract/queue.contract.ts';
import { repeatableContract } from './contract/repeatable.contract.ts';
import { toolsContract } from './contract/tools.contract.ts';
import { temporaryContract } from './contract/temporary.contract.ts';
import { sessionsContract } from './contract/sessions.contract.ts';
import { wallsContract } from './contract/walls.contract.ts';
import { languages } from './sandbox.ts';

export { contractOptions, type MadeSandbox, type MakeSandbox } from './contract/harness.contract.ts';

/**
 * What every sandbox backend must do. A backend's test supplies a factory and nothing else. What it claims
 * in `holds` is proven; what it does not hold is a skipped test with its reason. `ownDrivers` is false where the code
 * is run by the drivers of another backend, whose test proves them.
 */
export function sandboxContract(name: string, make: MakeSandbox, ownDrivers = true): void {
  describe(`sandbox contract: ${name}`, { timeout: 400_000 }, () => {
    languagesContract(make, ownDrivers ? languages : ['python']);
    if (ownDrivers) driversContract(make);
    outputContract(make);
    endingContract(make);
    wallsContract(make);
    limitsContract(make);
    queueContract(make);
    placesContract(make);
    temporaryContract(make);
    sessionsContract(make);
    repeatableContract(make);
    networkContract(make);
    packagesContract(make);
    toolsContract(make);
  });
}
