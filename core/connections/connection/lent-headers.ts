import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import type { HeaderProvider } from '../../features/credentials.ts'

/** The headers that header providers gave a connection. */
export interface LentHeaders {
  readonly headers: Readonly<Record<string, string>>
  readonly redirects?: 'none'
}

/** The value for a connection to which no provider gave a header. */
export const NOTHING_LENT: LentHeaders = { headers: {} }

/**
 * Headers of the providers for a server with a URL. A header of the configuration wins, whatever its case, and of two
 * providers the first. Rejects as a provider does.
 */
export async function lentHeaders(
  providers: ReadonlyMap<string, HeaderProvider>,
  server: { readonly id: string; readonly ownerId: string },
  { config, transport }: ServerSettings,
): Promise<LentHeaders> {
  if (providers.size === 0 || typeof config.url !== 'string') return NOTHING_LENT
  const taken = new Set(Object.keys(headersIn(config)).map(name => name.toLowerCase()))
  const headers: Record<string, string> = {}
  let redirects: HeaderProvider['redirects']
  for (const provider of providers.values()) {
    const offered = await provider.headersFor({ ...server, transport, url: config.url })
    for (const [name, value] of Object.entries(offered)) {
      if (taken.has(name.toLowerCase())) continue
      taken.add(name.toLowerCase())
      headers[name] = value
      redirects ??= provider.redirects
    }
  }
  return redirects === undefined ? { headers } : { headers, redirects }
}

/** A configuration with the headers of the providers added. */
export function withHeaders(config: JsonObject, lent: Readonly<Record<string, string>>): JsonObject {
  return { ...config, headers: { ...headersIn(config), ...lent } }
}

function headersIn({ headers }: JsonObject): JsonObject {
  return isJsonObject(headers) ? headers : {}
}
