import type { HubError } from '../../../contract/errors.ts'
import { isJsonObject } from '../../../contract/json.ts'
import { LEGACY_VERSIONS } from '../../../domain/era.ts'

/** A draft of the first version, which early servers answer with; it has the same messages. */
const DRAFT_VERSION = '2024-10-07'
/** The version of a server that names none; HTTP takes the same one for messages without a header. */
const UNNAMED_VERSION = '2025-03-26'
/** Errors that servers answer to a version they do not know, also where their text does not say so. */
const INVALID: ReadonlySet<unknown> = new Set([-32_602, -32_600, -32_603, -32_000])
/** HTTP statuses of the same meaning. */
const INVALID_STATUSES: ReadonlySet<unknown> = new Set([400, 406, 422, 426, 505])
/** The errors of a server that speaks no legacy version. */
const MODERN: ReadonlySet<unknown> = new Set([-32_020, -32_021, -32_022])
const VERSION = /\b20\d\d-\d\d-\d\d\b/g
/** A version in another notation, such as a number, or with a time. */
const DATE = /(20\d\d)[-_./]?(\d\d)[-_./]?(\d\d)/

/** The version that an answer to `initialize` names, and whether it is written as MCP demands; undefined for one that is unknown. */
export function readVersion(value: unknown): { readonly version: string; readonly isUsual: boolean } | undefined {
  const known = LEGACY_VERSIONS.find(version => version === value)
  if (known !== undefined) return { version: known, isUsual: true }
  if (value === DRAFT_VERSION) return { version: LEGACY_VERSIONS[0], isUsual: true }
  const date = DATE.exec(String(value))
  if (!date) return { version: UNNAMED_VERSION, isUsual: false }
  const named = LEGACY_VERSIONS.find(version => version === date.slice(1).join('-'))
  return named === undefined ? undefined : { version: named, isUsual: false }
}

/**
 * The version to ask with after `initialize` with `asked` was refused: the newest common one of those that the server
 * named, else the one before. Undefined when the refusal is not about the version, or none is left.
 */
export function versionAfter(asked: string, { message, data }: HubError): string | undefined {
  const earlier = LEGACY_VERSIONS.filter(version => version < asked).reverse()
  const named = versionsNamed(message, data)?.filter(version => version !== asked)
  if (named !== undefined && named.length > 0)
    return earlier.find(
      version => named.includes(version) || (version === LEGACY_VERSIONS[0] && named.includes(DRAFT_VERSION)),
    )
  const { rpcCode, status } = data ?? {}
  if (MODERN.has(rpcCode)) return undefined
  const isAboutVersion =
    INVALID_STATUSES.has(status) || (rpcCode !== undefined && INVALID.has(rpcCode)) || saysVersion(message, rpcCode)
  return isAboutVersion ? earlier[0] : undefined
}

function saysVersion(message: string, rpcCode: unknown): boolean {
  return rpcCode !== undefined && /version/i.test(message)
}

/** The versions of a JSON-RPC error: its list, or those in its message. */
function versionsNamed(message: string, data: HubError['data']): readonly string[] | undefined {
  const refusal = data?.rpcData
  if (isJsonObject(refusal)) {
    const listed = refusal.supported ?? refusal.supportedVersions
    if (Array.isArray(listed)) return listed.filter(version => typeof version === 'string')
  }
  return data?.rpcCode === undefined ? undefined : (message.match(VERSION) ?? undefined)
}
