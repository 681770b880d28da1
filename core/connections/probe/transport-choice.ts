import { isJsonObject } from '../../contract/json.ts'
import type { ServerSettings, TransportName } from '../../contract/records.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ConnectionEnd } from '../connection/connection-events.ts'

/** Statuses with which servers without Streamable HTTP reject its first POST; others say nothing about it. */
const NOT_STREAMABLE: readonly unknown[] = [400, 404, 405, 406, 411, 415, 501]
/** Statuses of a path without a server. */
const MISSING: readonly unknown[] = [404, 405]
/** The status of a proxy or framework that forbids POST; with a credential it is about that. */
const FORBIDDEN = 403
/** Time for which the finding SSE is kept: the server may be upgraded to Streamable HTTP. */
const KEPT_MS = 24 * 60 * 60_000

/** True when a failed start by Streamable HTTP suggests that the server speaks SSE. */
export function suggestsSse(
  settings: Pick<ServerSettings, 'transport' | 'transportInferred' | 'config'>,
  reason: WireError,
): boolean {
  if (settings.transportInferred !== true || settings.transport !== 'streamable-http') return false
  return isNotStreamable(settings, reason)
}

function isNotStreamable({ config }: Pick<ServerSettings, 'config'>, { code, data }: WireError): boolean {
  if (code === 'authorization_required') return data?.status === FORBIDDEN && !hasCredential(config)
  return code === 'upstream_http_error' && NOT_STREAMABLE.includes(data?.status)
}

/** True when requests carry something that may be a credential: a header, or a query in the URL. */
function hasCredential({ headers, url }: ServerSettings['config']): boolean {
  const hasHeaders = isJsonObject(headers) && Object.keys(headers).length > 0
  return hasHeaders || (typeof url === 'string' && url.includes('?'))
}

/** The same failure, with what may be wrong with the configured address or transport. */
export function hintingAddress(
  settings: Pick<ServerSettings, 'transport' | 'transportInferred' | 'config'>,
  reason: WireError,
): WireError {
  const hinting = hintingSse(settings, reason)
  const { url } = settings.config
  const isMissing = reason.code === 'upstream_http_error' && MISSING.includes(reason.data?.status)
  const path = typeof url === 'string' ? URL.parse(url)?.pathname : undefined
  if (!isMissing || path !== '/') return hinting
  return { ...hinting, message: `${hinting.message}; the url has no path: most servers answer at /mcp` }
}

/** The same failure, with what to set where the server may speak SSE and is not asked by itself. */
function hintingSse(
  settings: Pick<ServerSettings, 'transport' | 'transportInferred' | 'config'>,
  reason: WireError,
): WireError {
  const { status } = reason.data ?? {}
  const maySpeakSse = status === FORBIDDEN || isNotStreamable(settings, reason)
  if (settings.transport !== 'streamable-http' || !maySpeakSse || suggestsSse(settings, reason)) return reason
  return { ...reason, message: `${reason.message}; if it is a server for SSE, set "transport": "sse"` }
}

/**
 * The transport of one server. If only a URL is configured, Streamable HTTP is tried first, and SSE when the response
 * to `initialize` shows that it is not supported; a finding holds until it fails, and a day over restarts of the hub.
 */
export class TransportChoice {
  /** `found`: connected by SSE; otherwise an attempt. `instead`: why Streamable HTTP failed. */
  #sse: { readonly found: boolean; readonly instead: WireError | undefined } | undefined
  /** When SSE was found or last confirmed (`Date.now()`). */
  #sinceMs = 0
  #outdated = false

  /** Restores an earlier finding that was stored with the lists (`readAt`: ISO 8601). */
  restore({ transport, readAt }: { readonly transport?: TransportName; readonly readAt: string }): void {
    const sinceMs = Date.parse(readAt)
    if (transport !== 'sse' || Date.now() - sinceMs >= KEPT_MS) return
    this.#sse = { found: true, instead: undefined }
    this.#sinceMs = sinceMs
  }

  /** The same configuration with the transport in effect. */
  apply(effective: EffectiveServer): EffectiveServer {
    const { settings } = effective
    if (!this.#sse || !settings.transportInferred) return effective
    return { ...effective, settings: { ...settings, transport: 'sse' } }
  }

  /** The transport in effect, if not the configured one. */
  get other(): TransportName | undefined {
    return this.#sse?.found ? 'sse' : undefined
  }

  /** True when the server is due to be probed for Streamable HTTP again. */
  get stale(): boolean {
    return this.#sse?.found === true && Date.now() - this.#sinceMs > KEPT_MS
  }

  /** True when such a probe succeeded, so that a reconnect is due. */
  get outdated(): boolean {
    return this.#outdated
  }

  opened(): void {
    if (!this.#sse) return
    if (!this.#sse.found) this.#sinceMs = Date.now()
    this.#sse = { found: true, instead: undefined }
  }

  /** Takes the result of the probe for Streamable HTTP. */
  asked(speaks: boolean): void {
    this.#sinceMs = Date.now()
    this.#outdated = speaks
  }

  /** Starts again with Streamable HTTP. */
  forget(): void {
    this.#sse = undefined
    this.#outdated = false
  }

  /**
   * Interprets the end of a connection with these settings. `retry`: it never opened, and the other transport should be
   * tried now. Otherwise the end with the reason to show: that of Streamable HTTP when neither transport worked.
   */
  ended(settings: ServerSettings | undefined, end: ConnectionEnd): ConnectionEnd | 'retry' {
    if (end.wasOpen || end.workerLost || !settings) return end
    const { reason } = end
    if (!this.#sse && suggestsSse(settings, reason)) {
      this.#sse = { found: false, instead: reason }
      return 'retry'
    }
    const { instead } = this.#sse ?? {}
    // An unreachable server says nothing about the transport; any other failure invalidates the finding.
    if (reason.code !== 'connection_lost' || instead) this.#sse = undefined
    // A server that requires a credential speaks the transport.
    if (!instead) return { ...end, reason: hintingAddress(settings, reason) }
    if (reason.code === 'authorization_required') return end
    const both = { ...instead, message: `${instead.message}; tried as SSE too: ${reason.message}` }
    return { ...end, reason: hintingAddress(settings, both) }
  }
}
