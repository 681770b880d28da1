import { Signal } from '@lit-labs/signals'
import { type Language, setLanguage } from '../text/t.ts'

/** `system`: as the machine is set. */
export type Theme = 'light' | 'dark' | 'system'
/** Records that lists show: own ones, all visible ones, or those of all users. */
export type Scope = 'mine' | 'visible' | 'all'

const system = matchMedia('(prefers-color-scheme: dark)')

function stored(name: string): string | undefined {
  return localStorage.getItem(`patchbay.${name}`) ?? undefined
}

function store(name: string, value: string): void {
  localStorage.setItem(`patchbay.${name}`, value)
}

/** Display settings of the console in this browser. */
export class Preferences {
  readonly #theme = new Signal.State<Theme>((stored('theme') as Theme | undefined) ?? 'system')
  readonly #language = new Signal.State<Language>(initialLanguage())
  readonly #narrow = new Signal.State(stored('rail') === 'narrow')
  readonly #keys = new Signal.State(stored('keys') !== 'off')

  constructor() {
    system.addEventListener('change', () => this.#paint())
  }

  get theme(): Theme {
    return this.#theme.get()
  }

  set theme(theme: Theme) {
    this.#theme.set(theme)
    store('theme', theme)
    this.#paint()
  }

  /** True when the page is dark now. Changes emit `patchbay-theme` on the window, for what draws colours itself. */
  get dark(): boolean {
    const { theme } = this
    return theme === 'dark' || (theme === 'system' && system.matches)
  }

  get language(): Language {
    return this.#language.get()
  }

  async useLanguage(language: Language): Promise<void> {
    await setLanguage(language)
    store('language', language)
    this.#language.set(language)
  }

  /** True when the rail shows only icons. */
  get narrowRail(): boolean {
    return this.#narrow.get()
  }

  set narrowRail(narrow: boolean) {
    this.#narrow.set(narrow)
    store('rail', narrow ? 'narrow' : 'wide')
  }

  /** True when keys of a single letter are shortcuts. */
  get letterKeys(): boolean {
    return this.#keys.get()
  }

  set letterKeys(on: boolean) {
    this.#keys.set(on)
    store('keys', on ? 'on' : 'off')
  }

  #paint(): void {
    const { classList } = document.documentElement
    classList.toggle('wa-dark', this.dark)
    classList.toggle('wa-light', !this.dark)
    dispatchEvent(new Event('patchbay-theme'))
  }
}

function initialLanguage(): Language {
  const own = stored('language')
  if (own === 'en' || own === 'zh') return own
  return navigator.languages.find(name => /^(en|zh)\b/.test(name))?.startsWith('zh') ? 'zh' : 'en'
}

/** The preferences of this browser. */
export const preferences = new Preferences()
