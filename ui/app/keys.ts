import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { placesNow } from './places.ts'
import { preferences } from './preferences.ts'
import { router } from './router.ts'
import { isTyping } from './typing.ts'

/** Time to wait for the second key after `g`, in milliseconds. */
const SECOND_KEY_MS = 1500

/** The keys that work on every page. Single letters are ignored while the user types, and can be turned off. */
export class Keys implements ReactiveController {
  /** The open layer: the palette or the list of keys. */
  open: 'palette' | 'help' | undefined
  #goUntilMs = 0
  #layer: ReactiveControllerHost | undefined

  constructor(host: ReactiveControllerHost) {
    host.addController(this)
  }

  /** Called by the element that shows the layers, so that it renders when one opens. */
  useLayer(layer: ReactiveControllerHost): void {
    this.#layer = layer
  }

  hostConnected(): void {
    addEventListener('keydown', this.#pressed)
  }

  hostDisconnected(): void {
    removeEventListener('keydown', this.#pressed)
  }

  openPalette(): void {
    this.#show('palette')
  }

  showHelp(): void {
    this.#show('help')
  }

  close(): void {
    this.#show(undefined)
  }

  #show(open: Keys['open']): void {
    this.open = open
    this.#layer?.requestUpdate()
  }

  readonly #pressed = (event: KeyboardEvent): void => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      return this.openPalette()
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (!preferences.letterKeys || isTyping(event) || document.querySelector('wa-dialog[open], wa-drawer[open]')) return
    if (this.#letter(event.key)) event.preventDefault()
  }

  /** Returns true if the key is a shortcut. */
  #letter(key: string): boolean {
    const going = performance.now() < this.#goUntilMs
    this.#goUntilMs = 0
    if (going) {
      const place = placesNow().find(({ key: second }) => second === key)
      if (place) void router.go(place.paths[0] ?? '/')
      return place !== undefined
    }
    if (key === 'g') this.#goUntilMs = performance.now() + SECOND_KEY_MS
    else if (key === '?') this.showHelp()
    else if (key === '/') return focusSearch()
    else return false
    return true
  }
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLElement>('main [data-search]')
  field?.focus()
  return field !== null
}
