import type { HubError } from '../../../contract/errors.ts'
import { isJsonObject } from '../../../contract/json.ts'
import { LEGACY_VERSIONS } from '../../../domain/era.ts'

/** A draft of the first version, which early servers answer with; it has the same messages. */
export const DRAFT_VERSION = '2024-10-07'
/** Invalid params, and errors of HTTP transports that name no method: what servers answer to a version they do not know. */
const INVALID: ReadonlySet<unknown> = new Set([-32_602, -32_600, -32_000])
/** The errors of a server that speaks no legacy version. */
const MODERN: ReadonlySet<unknown> = new Set([-32_020, -32_021, -32_022])
const VERSION = /\b20\d\d-\d\d-\d\d\b/g

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
    status === 400 || (rpcCode !== undefined && INVALID.has(rpcCode)) || saysVersion(message, rpcCode)
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
