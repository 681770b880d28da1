import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ServerSettings } from '../../contract/records.ts'
import type { Fields } from '../json/fields.ts'
import { quoteName } from '../names.ts'
import { wordIn } from '../spelling/words.ts'
import type { Transport, Transports } from './transports.ts'

/** Transport names of other programs, by their letters and digits alone. */
const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ http: 'streamable-http', httpstream: 'streamable-http', httpstreaming: 'streamable-http' },
  ...{ streaminghttp: 'streamable-http', streamable: 'streamable-http', httpstreamable: 'streamable-http' },
  local: 'stdio',
}
const BUNDLED = ['stdio', 'sse', 'streamable-http', 'openapi'] as const

/**
 * Returns the transport that a word of a body or a file means: a bundled one in any letter case and punctuation (see `wordIn`),
 * or under another program's word for it. Any other value is returned unchanged.
 */
export function transportWord(written: JsonValue): JsonValue {
  if (typeof written !== 'string') return written
  const plain = written.toLowerCase().replaceAll(/[-_ ]/g, '')
  return wordIn(BUNDLED, written) ?? (Object.hasOwn(SYNONYMS, plain) ? (SYNONYMS[plain] ?? written) : written)
}

/** The transport that a body names or implies. */
export interface NamedTransport {
  readonly name: string
  readonly inferred: boolean
  /** Undefined while its plugin does not run. */
  readonly open?: Transport
  /** The stored configuration of a server whose plugin does not run. */
  readonly kept?: JsonObject
}

/** The transport of a flat body; a problem is added to the errors. `stored`: the server that the body is to replace. */
export function readTransportName(
  transports: Transports,
  fields: Fields,
  flat: JsonObject,
  stored: ServerSettings | undefined,
): NamedTransport | undefined {
  const given = fields.raw('transport')
  const inferred = given === undefined ? inferTransport(fields, flat) : undefined
  const names = transports.all().map(transport => transport.name)
  const named = typeof given === 'string' ? (wordIn(names, given) ?? given) : given
  const name = inferred ?? named
  if (name === undefined) return undefined
  const open = typeof name === 'string' ? transports.of(name) : undefined
  if (open) return { name: open.name, inferred: given === undefined && flat.url !== undefined, open }
  if (stored && stored.transport === name) return { name: stored.transport, inferred: false, kept: stored.config }
  if (typeof name !== 'string') return fields.problem('transport', 'type', '"transport" must be a string')
  return fields.problem('transport', 'enum', `"transport" is ${quoteName(name)}; it must be one of ${names.join(', ')}`)
}

/** The transport of a body that names none, as the configurations of other programs do. */
function inferTransport(fields: Fields, flat: JsonObject): string | undefined {
  const present = ['openapi', 'url', 'command'].filter(field => flat[field] !== undefined)
  if (present.length > 1) {
    const detail = `${present.map(field => `"${field}"`).join(' and ')} name different transports; keep one, or say which by "transport"`
    return fields.problem('transport', 'transport_ambiguous', detail)
  }
  switch (present[0]) {
    case 'openapi':
      return 'openapi'
    case 'url':
      return 'streamable-http'
    case 'command':
      return 'stdio'
    default:
      return fields.problem(
        'transport',
        'transport_missing',
        'Nothing to connect to: give "command", "url" or "openapi"',
      )
  }
}
