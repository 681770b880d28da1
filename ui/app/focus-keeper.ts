/**
 * Keeps the keyboard focus in the page: when the focused element is removed, the nearest remaining control gets the focus, and
 * an element that was disabled while it worked gets it back afterwards. Otherwise the browser would continue at the top.
 */
const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex]'

let last: HTMLElement | undefined
/** Ancestors of the focused element, nearest first. */
let around: readonly HTMLElement[] = []
let isDue = false

/** Begins to watch. Called once. */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement) || target === document.body) return
    last = target
    around = ancestorsOf(target)
  })
  // A click outside of all controls removes the focus intentionally.
  document.addEventListener('pointerdown', () => {
    last = undefined
  })
  new MutationObserver(() => {
    if (last === undefined || isDue || document.activeElement !== document.body) return
    isDue = true
    requestAnimationFrame(restore)
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled', 'hidden'] })
}

function ancestorsOf(element: HTMLElement): readonly HTMLElement[] {
  const found: HTMLElement[] = []
  for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) found.push(at)
  return found
}

function restore(): void {
  isDue = false
  if (last === undefined || document.activeElement !== document.body) return
  if (last.isConnected) {
    // A disabled element cannot be focused; the next change is checked again.
    last.focus({ preventScroll: true })
    return
  }
  for (const element of around) {
    if (!element.isConnected) continue
    const next = [...element.querySelectorAll<HTMLElement>(FOCUSABLE)].find(one => one.checkVisibility())
    next?.focus({ preventScroll: true })
    if (next) return
  }
}
