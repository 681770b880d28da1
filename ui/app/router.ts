import { Signal } from '@lit-labs/signals'
import { basePath } from '../api/client.ts'

/** A place of the console: the parsed address. */
export interface Place {
  /** Below the base path, such as `/servers/ann~github`. */
  readonly path: string
  readonly query: URLSearchParams
}

/** Called before a place is left; false cancels that. */
export type LeaveGuard = () => boolean | Promise<boolean>

/**
 * The address of the tab as a signal. Links of the page lead to places without a page load; the query holds the view: filters,
 * tab, sort, range, open drawer.
 */
export class Router {
  readonly #place = new Signal.State<Place>(here())
  #guard: LeaveGuard | undefined

  get place(): Place {
    return this.#place.get()
  }

  /** Follows links and the browser's own Back; called once. */
  listen(): void {
    addEventListener('popstate', () => this.#place.set(here()))
    document.addEventListener('click', event => this.#clicked(event))
    addEventListener('beforeunload', event => {
      if (this.#guard) event.preventDefault()
    })
  }

  /** Goes to a path of the console, which may have a query. */
  async go(target: string, options: { readonly replace?: boolean } = {}): Promise<void> {
    const guard = this.#guard
    if (guard && !(await guard())) return
    this.#guard = undefined
    history[options.replace ? 'replaceState' : 'pushState'](null, '', `${basePath}${target}`)
    this.#place.set(here())
  }

  /**
   * Changes parts of the query in place; undefined or empty takes one out. With `push` the browser's Back undoes it.
   */
  setQuery(changes: Readonly<Record<string, string | undefined>>, options: { readonly push?: boolean } = {}): void {
    const query = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === '') query.delete(name)
      else query.set(name, value)
    }
    const text = query.toString()
    const target = `${location.pathname}${text === '' ? '' : `?${text}`}`
    if (target === `${location.pathname}${location.search}`) return
    history[options.push ? 'pushState' : 'replaceState'](null, '', target)
    this.#place.set(here())
  }

  /** Keeps the place until the answered function is called or the guard agrees, for forms with changes. */
  guard(guard: LeaveGuard): () => void {
    this.#guard = guard
    return () => {
      if (this.#guard === guard) this.#guard = undefined
    }
  }

  #clicked(event: MouseEvent): void {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const link = event.composedPath().find(node => node instanceof HTMLAnchorElement)
    if (link?.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
    if (!isConsolePath(link.pathname)) return
    event.preventDefault()
    void this.go(`${link.pathname.slice(basePath.length)}${link.search}`)
  }
}

/** Paths that the hub answers itself. */
function isConsolePath(pathname: string): boolean {
  if (!`${pathname}/`.startsWith(`${basePath}/`)) return false
  return !/^\/(api|mcp|sse|messages|health|metrics|plugins|assets)(\/|$)/.test(pathname.slice(basePath.length))
}

function here(): Place {
  return { path: location.pathname.slice(basePath.length) || '/', query: new URLSearchParams(location.search) }
}

/** Address of a place, for `href`. */
export function href(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== '') search.set(name, value)
  const text = search.toString()
  return `${basePath}${path}${text === '' ? '' : `?${text}`}`
}

/** The router of this tab. */
export const router = new Router()
