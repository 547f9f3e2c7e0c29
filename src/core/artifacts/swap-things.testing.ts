/** An attacker in a process of its own: `prey.link`, `prey.plain` and so on take turns as `prey`. */
import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

const [folder = '', stock = ''] = process.argv.slice(2);
const things = readdirSync(stock).map((name) => ({
  away: join(stock, name),
  here: join(folder, name.split('.')[0] ?? name),
}));

process.on('disconnect', () => process.exit());
process.send?.('swapping');
swapForever();

function swapForever(): void {
  for (let turn = 0; turn < 100; turn++)
    for (const { away, here } of things) {
      renameSync(away, here);
      renameSync(here, away);
    }
  // Lets the end of the test be noticed.
  setImmediate(swapForever);
}
