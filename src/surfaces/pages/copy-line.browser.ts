/** Copies lines of a page. Where a browser has no clipboard for it, as over plain HTTP, the line is selected instead. */
import { find } from '../../platform/html/elements.browser.ts';

for (const section of document.querySelectorAll('.copy')) {
  const button = find(section, 'button', HTMLButtonElement);
  const line = find(section, 'code, input', HTMLElement);
  button.hidden = false;
  button.addEventListener('click', async () => {
    button.textContent = await copyLine(line);
    setTimeout(() => (button.textContent = 'Copy'), 3000);
  });
}

async function copyLine(line: HTMLElement): Promise<string> {
  const isInput = line instanceof HTMLInputElement;
  try {
    await navigator.clipboard.writeText(isInput ? line.value : line.textContent);
    return 'Copied';
  } catch {
    if (isInput) line.select();
    else getSelection()?.selectAllChildren(line);
    return 'Selected: copy it now';
  }
}
