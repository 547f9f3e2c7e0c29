/** Every kind of result that code can report. */
import assert from 'node:assert/strict';
import type { Call } from './stage.testing.ts';

/** Takes the place of pandas, of which a result takes only this. */
const table = `import contextlib, sys, types
pandas = types.ModuleType("pandas")
class DataFrame:
    columns = ["a", "b", "c"]
    __len__ = lambda self: 77
    __repr__ = lambda self: "    a  b  c\\n0   1  2  3"
    _repr_html_ = lambda self: "<table></table>"
class Series: pass
pandas.DataFrame, pandas.Series = DataFrame, Series
pandas.option_context = lambda *options: contextlib.nullcontext()
sys.modules["pandas"] = pandas
DataFrame()`;

const page = `class Page:
    __repr__ = lambda self: "a page"
    _repr_html_ = lambda self: "<p>page</p>"
display(Page())`;

const codes = ['[40 + 2]', table, page, '"long " * 1000', 'for n in range(21): display(n + 1000)'];

export async function showResults(call: Call): Promise<void> {
  for (const code of codes) {
    const { data, text } = await call('execute_code', { language: 'python', code });
    assert.ok(data.results.length > 0, text);
    await call('get_execution', { execution_id: data.execution_id });
  }
}
