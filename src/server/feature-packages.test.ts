import assert from 'node:assert/strict';
import { it } from 'node:test';
import { joinByPlace, type Setting } from '../platform/config/setting.ts';
import { loadPackage } from './feature-packages.ts';

const absent = { name: '@workcrate/absent', settings: ['absentUrl'] };

it('a package that is not installed has its command say in one line how to get it', async () => {
  const { commands = {}, settings } = await loadPackage({ ...absent, command: 'absent' });
  const run = await commands['absent']!.load();
  await assert.rejects(run(null as never), {
    code: 'config_invalid',
    message: 'absent needs @workcrate/absent, which is not installed. Run: npm install @workcrate/absent',
  });
  assert.equal(settings['absentUrl']!.kind.parse('http://127.0.0.1'), 'http://127.0.0.1');
});

it('the settings of one without a command are refused, and say it', async () => {
  const { settings } = await loadPackage({ ...absent, command: null });
  const { kind, fallback } = joinByPlace<Setting<unknown>>([settings])['absentUrl']!;
  assert.equal(fallback({}), null);
  assert.throws(() => kind.parse('x'));
  assert.equal(kind.takes, 'nothing until you run npm install @workcrate/absent');
});

it('a package that is installed and does not work is a failure', async () => {
  await assert.rejects(loadPackage({ ...absent, name: 'workcrate/nothing', command: null }));
});
