import { readScopes } from './scopes.ts'

/** The parameters of a `Bearer` or `DPoP` challenge that matter to a client (RFC 6750, RFC 9449, RFC 9728). */
export interface BearerChallenge {
  readonly resourceMetadata?: string
  readonly scope?: string
  readonly error?: string
  /** The server wants tokens that are bound to a key, and takes no others. */
  readonly isBound?: boolean
}

const TOKEN = /[A-Za-z0-9!#$%&'*+.^_`|~-]+/y
const PARAMETER = /\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))\s*/y

/**
 * The first `Bearer` challenge of a `WWW-Authenticate`, which may have several of any scheme; without one the first `DPoP`
 * challenge. Empty without either.
 */
export function bearerChallenge(header: string | undefined): BearerChallenge {
  const found = challenges(header ?? '')
  for (const wanted of ['bearer', 'dpop']) {
    const first = found.find(({ scheme }) => scheme.toLowerCase() === wanted)
    if (!first) continue
    const { parameters } = first
    const { resource_metadata: resourceMetadata, error } = parameters
    const scope = readScopes(parameters.scope)?.join(' ') ?? ''
    return {
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
      ...(scope === '' ? {} : { scope }),
      ...(error === undefined ? {} : { error }),
      ...(wanted === 'dpop' ? { isBound: true } : {}),
    }
  }
  return {}
}

interface Challenge {
  readonly scheme: string
  readonly parameters: Record<string, string>
}

function challenges(header: string): readonly Challenge[] {
  const found: Challenge[] = []
  let at = 0
  while (at < header.length) {
    PARAMETER.lastIndex = at
    const parameter = PARAMETER.exec(header)
    const current = found.at(-1)
    if (parameter && current) {
      const [, name = '', quoted, plain] = parameter
      current.parameters[name.toLowerCase()] ??= quoted?.replace(/\\(.)/g, '$1') ?? plain ?? ''
      at = PARAMETER.lastIndex
      continue
    }
    TOKEN.lastIndex = at
    const token = TOKEN.exec(header)
    if (token) found.push({ scheme: token[0], parameters: {} })
    at = token ? TOKEN.lastIndex : at + 1
  }
  return found
}
