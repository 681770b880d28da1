/** The parameters of a `Bearer` challenge that matter to a client (RFC 6750, RFC 9728). */
export interface BearerChallenge {
  readonly resourceMetadata?: string
  readonly scope?: string
  readonly error?: string
}

const TOKEN = /[A-Za-z0-9!#$%&'*+.^_`|~-]+/y
const PARAMETER = /\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))\s*/y

/** The first `Bearer` challenge of a `WWW-Authenticate`, which may have several of any scheme. Empty without one. */
export function bearerChallenge(header: string | undefined): BearerChallenge {
  for (const { scheme, parameters } of challenges(header ?? '')) {
    if (scheme.toLowerCase() !== 'bearer') continue
    const { resource_metadata: resourceMetadata, scope, error } = parameters
    return {
      ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
      ...(scope === undefined || scope.trim() === '' ? {} : { scope: scope.trim() }),
      ...(error === undefined ? {} : { error }),
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
