import { api, router, segment, type Ways } from 'patchbay/console'

/** The part of a sign-in under way that this browser keeps. */
export interface Begun {
  readonly provider: string
  readonly key: string
  /** The query and the fragment of the page to return to: a fragment may have a secret, and leaves the browser for nobody. */
  readonly rest?: string
}

const KEY = 'patchbay.provider'

/** The ways to sign in; passwords alone where the plugin does not run. */
export async function waysIn(signal?: AbortSignal): Promise<Ways> {
  const answer = await api.get<Ways>('/api/auth/providers', { signal }).catch(() => undefined)
  return answer ?? { items: [], passkeys: false, passwords: 'on' }
}

/**
 * Leaves the console for a provider. `link`: to link an account with the user who is signed in. The query and the fragment of the
 * present page are kept where it is the one to return to.
 */
export async function begin(provider: string, { link, returnTo }: { link?: true; returnTo: string }): Promise<void> {
  const key = textOf(crypto.getRandomValues(new Uint8Array(32)))
  const keyHash = textOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key))))
  const body = { keyHash, returnTo, ...(link ? { link } : {}) }
  const { url } = await api.post<{ readonly url: string }>(`/api/auth/providers/${segment(provider)}/start`, { body })
  const rest = returnTo === router.place.path ? `${location.search}${location.hash}` : ''
  sessionStorage.setItem(KEY, JSON.stringify({ provider, key, rest } satisfies Begun))
  location.assign(url)
}

/** Takes what was kept at the beginning, once. */
export function begun(): Begun | undefined {
  const kept = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  return kept === null ? undefined : (JSON.parse(kept) as Begun)
}

/** True where the browser can begin: it hashes only at https and on this machine. */
export function canBegin(): boolean {
  return globalThis.isSecureContext
}

function textOf(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
