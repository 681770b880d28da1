/**
 * Keeps the keyboard's place in the page: when what had the focus is removed, the nearest control that is left beside it
 * takes it, and what was disabled while it worked has it back afterwards. Else the browser begins again at the top.
 */
const FOCUSABLE =
  'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), [tabindex]'

let last: HTMLElement | undefined
/** What was around it, the nearest first. */
let around: readonly HTMLElement[] = []
let isDue = false

/** Begins to watch. Called once. */
export function keepFocus(): void {
  document.addEventListener('focusin', ({ target }) => {
    if (!(target instanceof HTMLElement) || target === document.body) return
    last = target
    around = ancestorsOf(target)
  })
  // Whoever presses beside everything wants no focus.
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
    // What is disabled takes none; the next change is looked at again.
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
