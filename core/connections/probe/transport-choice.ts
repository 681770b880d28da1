import type { WireError } from '../../contract/errors.ts'
import type { ServerSettings, TransportName } from '../../contract/records.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { ConnectionEnd } from '../connection/connection-events.ts'

/** How servers without streamable HTTP answer its first POST; anything else says nothing about the transport. */
const NOT_STREAMABLE: readonly unknown[] = [400, 404, 405]
/** A server that spoke SSE only may have learned the newer transport since. */
const KEPT_MS = 24 * 60 * 60_000

/** Whether a failed start by streamable HTTP says that the server may speak SSE instead. */
export function suggestsSse(
  settings: Pick<ServerSettings, 'transport' | 'transportInferred'>,
  reason: WireError,
): boolean {
  if (settings.transportInferred !== true || settings.transport !== 'streamable-http') return false
  return reason.code === 'upstream_http_error' && NOT_STREAMABLE.includes(reason.data?.status)
}

/**
 * The transport of one server. Where only a URL is configured, streamable HTTP is tried first and SSE when the answer to
 * `initialize` says that it is not spoken; what was found holds until it fails, and over restarts of the hub for a day.
 */
export class TransportChoice {
  /** `found`: connected by SSE; else on the way there. `instead`: why the first transport was given up. */
  #sse: { readonly found: boolean; readonly instead: WireError | undefined } | undefined
  /** When SSE was found or last confirmed (`Date.now()`). */
  #sinceMs = 0
  #outdated = false

  /** What was found earlier (`readAt`, ISO 8601), as it was stored with the lists. */
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

  /** The transport in effect where it is not the configured one. */
  get other(): TransportName | undefined {
    return this.#sse?.found ? 'sse' : undefined
  }

  /** The server may have learnt the first transport since it was last asked. */
  get stale(): boolean {
    return this.#sse?.found === true && Date.now() - this.#sinceMs > KEPT_MS
  }

  /** The server was asked again, and what it answered is worth another connection. */
  get outdated(): boolean {
    return this.#outdated
  }

  opened(): void {
    if (!this.#sse) return
    if (!this.#sse.found) this.#sinceMs = Date.now()
    this.#sse = { found: true, instead: undefined }
  }

  /** The server was asked again whether it speaks the first transport. */
  asked(speaks: boolean): void {
    this.#sinceMs = Date.now()
    this.#outdated = speaks
  }

  /** Begins anew with the first transport. */
  forget(): void {
    this.#sse = undefined
    this.#outdated = false
  }

  /**
   * What the end of a connection by these settings means. `retry`: it never opened, and the other transport is worth an
   * attempt now. Else the end with the reason to show, which is the first transport's where neither was spoken.
   */
  ended(settings: ServerSettings | undefined, end: ConnectionEnd): ConnectionEnd | 'retry' {
    if (end.wasOpen || end.workerLost || !settings) return end
    const { reason } = end
    if (!this.#sse && suggestsSse(settings, reason)) {
      this.#sse = { found: false, instead: reason }
      return 'retry'
    }
    const { instead } = this.#sse ?? {}
    // Unreachable says nothing about the transport; any other failure makes what was found doubtful.
    if (reason.code !== 'connection_lost' || instead) this.#sse = undefined
    // Who asks for a credential does speak it.
    if (!instead || reason.code === 'authorization_required') return end
    return { ...end, reason: { ...instead, message: `${instead.message}; tried as SSE too: ${reason.message}` } }
  }
}
