// Light or dark: as the system says, until somebody says otherwise here.

const place = 'belay-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const chosen = () => localStorage.getItem(place);
let told = () => {};

function apply() {
  document.documentElement.dataset.theme = chosen() || (system.matches ? 'dark' : 'light');
  told();
}

export const isDark = () => document.documentElement.dataset.theme === 'dark';

/** `listener` is told now and with each change. */
export function startTheme(listener) {
  told = listener;
  apply();
  system.addEventListener('change', apply);
  addEventListener('storage', apply);
}

export function switchTheme() {
  localStorage.setItem(place, isDark() ? 'light' : 'dark');
  apply();
}
