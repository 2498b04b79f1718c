// Light or dark: the system's setting, until the user chooses here.

const place = 'belay-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const chosen = () => localStorage.getItem(place);
let told = () => {};

function apply() {
  document.documentElement.dataset.theme = chosen() || (system.matches ? 'dark' : 'light');
  told();
}

export const isDark = () => document.documentElement.dataset.theme === 'dark';

/** `listener` is called now and on each change. */
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
