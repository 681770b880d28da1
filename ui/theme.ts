/** Runs before the first paint, as a classic script: sets the theme that was chosen last, or the system's. */
const chosen = localStorage.getItem('patchbay.theme')
const dark = chosen === 'dark' || (chosen !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
document.documentElement.classList.add(dark ? 'wa-dark' : 'wa-light')
