import { type GuardedFetch, HubError, isJsonObject } from 'patchbay/contract'
import type { MarketVariant } from 'patchbay/plugins/market'

const MOST_BYTES = 8 * 1024 * 1024

/** The addresses of package registries. */
export interface PackageRegistries {
  readonly npm: string
  readonly pypi: string
}

/** Requests the newest version of a package from its registry. Throws `template_unusable` if there is none. */
export async function newestVersion(
  { kind, package: id = '' }: MarketVariant,
  registries: PackageRegistries,
  fetch: GuardedFetch,
  signal: AbortSignal,
): Promise<string> {
  const isNpm = kind === 'npm'
  const base = registries[isNpm ? 'npm' : 'pypi'].replace(/\/+$/, '')
  const path = isNpm ? id.replace('/', '%2F') : `pypi/${id}/json`
  const accept = isNpm ? 'application/vnd.npm.install-v1+json' : 'application/json'
  const answer = await fetch(`${base}/${path}`, { method: 'GET', headers: { accept }, signal, maxBytes: MOST_BYTES })
  if (answer.status !== 200) {
    answer.cancel()
    if (answer.status === 404) throw new HubError('template_unusable', `The package registry has no package "${id}"`)
    throw new HubError('upstream_http_error', `The package registry answered ${answer.status}`)
  }
  const body = parsed(await answer.text())
  const named = isJsonObject(body) ? body[isNpm ? 'dist-tags' : 'info'] : undefined
  const version = isJsonObject(named) ? named[isNpm ? 'latest' : 'version'] : undefined
  if (typeof version === 'string') return version
  throw new HubError('upstream_protocol', `The package registry says no version of "${id}"`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
