import { Signal } from '@lit-labs/signals'
import { api, segment } from '../api/client.ts'
import { usePluginWords } from '../text/plugin-words.ts'
import { live } from './live.ts'
import { preferences } from './preferences.ts'

/** A page that a plugin adds to the console. */
export interface PluginPage {
  readonly plugin: string
  readonly path: string
  readonly title: string | { readonly en: string; readonly zh?: string }
  readonly icon: string
  readonly element: string
  /** Path of its module; another one when the content is. */
  readonly script: string
}

interface PluginAnswer {
  readonly items: readonly PluginPage[]
  /** Pages of the console's own whose plugins run. */
  readonly built: readonly string[]
  readonly words: Readonly<Record<string, string>>
}

/** Icons that the sprite has for pages of plugins, besides those of the console. */
const ICONS: ReadonlySet<string> = new Set([
  ...[
    'activity',
    'archive',
    'bell',
    'blocks',
    'book-open',
    'bot',
    'box',
    'boxes',
    'brain',
    'briefcase',
    'bug',
    'cable',
  ],
  ...[
    'calendar',
    'camera',
    'chart-line',
    'chart-pie',
    'circle-check',
    'clipboard-list',
    'clock',
    'cloud',
    'code',
    'cpu',
  ],
  ...['credit-card', 'database', 'file-json', 'file-text', 'flag', 'folder', 'gauge', 'git-branch', 'globe', 'heart'],
  ...[
    'history',
    'house',
    'image',
    'inbox',
    'key',
    'layers',
    'lightbulb',
    'link',
    'list',
    'list-checks',
    'lock',
    'mail',
  ],
  ...[
    'map',
    'message-circle',
    'mic',
    'music',
    'network',
    'package',
    'plug',
    'puzzle',
    'radio',
    'rocket',
    'scroll-text',
  ],
  ...[
    'search',
    'server',
    'settings-2',
    'shield',
    'shopping-cart',
    'star',
    'store',
    'table',
    'tag',
    'terminal',
    'truck',
  ],
  ...['users', 'wallet', 'wrench', 'zap'],
])

/** The pages of plugins that this user may see; updated when plugins start and stop. */
export class PluginPages {
  readonly #items = new Signal.State<readonly PluginPage[] | undefined>(undefined)
  readonly #built = new Signal.State<readonly string[] | undefined>(undefined)
  #stop: (() => void) | undefined
  #abort: AbortController | undefined

  /** Undefined: not read yet. */
  get items(): readonly PluginPage[] | undefined {
    return this.#items.get()
  }

  /** False for a page of the console's own whose plugin does not run; true while that is not known. */
  has(id: string): boolean {
    return this.#built.get()?.includes(id) !== false
  }

  find(plugin: string, path: string): PluginPage | undefined {
    return this.items?.find(page => page.plugin === plugin && page.path === path)
  }

  start(): void {
    this.stop()
    void this.#read()
    const read = (): void => void this.#read()
    this.#stop = live.subscribe(['servers'], ({ event }) => event === 'plugin.changed' && read(), read)
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#abort?.abort()
    this.#items.set(undefined)
    this.#built.set(undefined)
  }

  /** Without an answer the pages stay unchanged: the live stream reports when the hub is available again. */
  async #read(): Promise<void> {
    this.#abort?.abort()
    const abort = new AbortController()
    this.#abort = abort
    const { signal } = abort
    const answer = await api.get<PluginAnswer>('/api/plugins/pages', { signal }).catch(() => undefined)
    if (answer && !signal.aborted) {
      usePluginWords(answer.words)
      this.#built.set(answer.built)
    }
    if (!signal.aborted) this.#items.set(answer?.items ?? this.items ?? [])
  }
}

/** The pages of plugins in this tab. */
export const pluginPages = new PluginPages()

/** True while the plugin of one of the console's own pages runs, by the page's id; true also while that is not known. */
export function hasPage(id: string): boolean {
  return pluginPages.has(id)
}

/** The title of a page, or of what else a plugin brings, in the reader's language. */
export function titleOf({ title }: Pick<PluginPage, 'title'>): string {
  if (typeof title === 'string') return title
  return (preferences.language === 'zh' ? title.zh : undefined) ?? title.en
}

/** A page's icon, or that of plugins if the sprite does not contain it. */
export function iconOf({ icon }: PluginPage): string {
  return ICONS.has(icon) ? icon : 'puzzle'
}

/** A page's place, below the base path. */
export function pathOf({ plugin, path }: Pick<PluginPage, 'plugin' | 'path'>): string {
  return `/x/${segment(plugin)}/${segment(path)}`
}
