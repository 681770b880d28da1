import { createHash } from 'node:crypto'
import type { Era } from '../../domain/era.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ConnectionEnd } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import { type EraProbe, mayBeModern, notSpoken, probeEra, saysModern } from '../probe/era-probe.ts'
import type { EraVerdict } from '../store/era-store.ts'
import type { ServerContext } from './server-context.ts'

/** Time for which the verdict `legacy` is kept: the server may be upgraded. */
const LEGACY_FOR_MS = 24 * 3_600_000

/** The era of one server: remembered while that is certain to hold, otherwise probed. */
export class ServerEra {
  readonly #context: ServerContext
  readonly #serverId: string
  #verdict: EraVerdict | undefined
  #loaded = false
  #isProgram = false
  #asking = false
  #probe: EraProbe | undefined
  /** The era that the configuration demands, whatever the server supports. */
  #pinned: Era | undefined

  constructor(context: ServerContext, serverId: string) {
    this.#context = context
    this.#serverId = serverId
  }

  /** The era of the last verdict. */
  get known(): Era | undefined {
    return this.#verdict?.era
  }

  /** True when the verdict has expired and no probe is running. */
  get stale(): boolean {
    const verdict = this.#verdict
    if (this.#asking || verdict?.era !== 'legacy') return false
    return Date.now() - Date.parse(verdict.probedAt) > LEGACY_FOR_MS
  }

  /**
   * The era to connect with. `afresh`: probe whatever is known. If the probe gets no response, the earlier verdict
   * holds. `still`: false once the result is no longer needed, so that no process is started for it. Rejects with an error
   * that a person ends at a page.
   */
  async decide(
    plan: LaunchPlan,
    configHash: string,
    { afresh = false, still }: { readonly afresh?: boolean; readonly still: () => boolean },
  ): Promise<Era> {
    if (!mayBeModern(plan)) return 'legacy'
    this.#pinned = plan.settings.era
    if (this.#pinned) {
      this.#loaded = true
      this.#verdict = undefined
      return this.#pinned
    }
    this.#isProgram = plan.child !== undefined
    const credentialHash = hashOf(plan)
    if (!this.#loaded) {
      this.#loaded = true
      this.#verdict ??= await this.#context.eras.find(this.#serverId)
    }
    const verdict = this.#verdict
    const known = verdict?.configHash === configHash && verdict.credentialHash === credentialHash ? verdict : undefined
    if ((known && !this.stale && !afresh) || !still()) return known?.era ?? 'legacy'
    const era = await this.#ask(plan)
    if (!still()) return 'legacy'
    const found = { era: era ?? known?.era ?? 'legacy', configHash, credentialHash, probedAt: new Date().toISOString() }
    // Without a response the old verdict stays for now; where there is none, the next start probes again.
    if (era !== undefined || known) this.#verdict = found
    if (era !== undefined) this.#context.eras.save(this.#serverId, found)
    return found.era
  }

  /**
   * A connection has ended. A verdict `modern` that failed is probed again before the next connection, and so is an
   * address that rejected the legacy handshake. A program that did not respond to the probe, since it starts slowly,
   * shows its era by this rejection. True when it did: the server is to be connected with the other era at once.
   */
  ended({ wasOpen, reason }: ConnectionEnd): boolean {
    if (this.#verdict?.era === 'legacy' && !wasOpen && saysModern(reason)) {
      this.#verdict = { ...this.#verdict, era: 'modern', probedAt: new Date().toISOString() }
      this.#context.eras.save(this.#serverId, this.#verdict)
      return true
    }
    if (this.known === 'legacy' && (wasOpen || this.#isProgram || !refuses(reason))) return false
    // A program that ran well restarts as it was; an address may lead to another server.
    if (this.known === 'modern' && this.#isProgram && wasOpen && reason.code !== 'upstream_protocol') return false
    this.forget()
    return false
  }

  /** The reason of an end, replaced where the server does not speak the era that its configuration demands. */
  explained(end: ConnectionEnd): ConnectionEnd {
    const reason = this.#pinned && !end.wasOpen && !end.workerLost ? notSpoken(end.reason, this.#pinned) : undefined
    return reason ? { ...end, reason } : end
  }

  /** The next connection probes, whatever is known. */
  forget(): void {
    this.#loaded = true
    if (!this.#verdict) return
    this.#verdict = undefined
    this.#context.eras.remove(this.#serverId)
  }

  /** Aborts the probe in progress. */
  async abandon(reason: WireError): Promise<void> {
    await this.#probe?.end(reason)
  }

  async #ask(plan: LaunchPlan): Promise<Era | undefined> {
    const probe = probeEra(this.#context.launcher, plan)
    this.#probe = probe
    this.#asking = true
    try {
      return await probe.verdict
    } finally {
      await probe.end({ code: 'stopped', message: 'The server has said which version it speaks' })
      if (this.#probe === probe) {
        this.#probe = undefined
        this.#asking = false
      }
    }
  }
}

/** The server responded to the probe with an error, so it does not know the method. */
function refuses({ data }: WireError): boolean {
  return data?.rpcCode !== undefined || data?.status === 400 || data?.status === 404 || data?.status === 405
}

function hashOf({ config }: LaunchPlan): string {
  return createHash('sha256')
    .update(JSON.stringify(config.headers ?? null))
    .digest('hex')
}
