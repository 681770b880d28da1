import type { ServerRecord, ServerSettings, TransportName } from '../../contract/records.ts'
import { type Era, eraOf } from '../../domain/era.ts'
import type { EffectiveServer } from '../../registry/api.ts'
import type { WireError } from '../../transport-kit/wire-error.ts'
import type { ServerCatalog } from '../api.ts'
import type { ConnectionEnd } from '../connection/connection-events.ts'
import type { LaunchPlan } from '../connection/launch-plan.ts'
import { openProbe } from '../probe/probe-connection.ts'
import { TransportChoice } from '../probe/transport-choice.ts'
import type { OpenedMessage } from '../protocol.ts'
import type { ServerContext } from './server-context.ts'
import { ServerEra } from './server-era.ts'

/** The era and the transport of one server, as found at connections and by separate probes. */
export class ProtocolFindings {
  readonly #context: ServerContext
  readonly #record: () => ServerRecord
  readonly #era: ServerEra
  readonly #transport = new TransportChoice()
  /** The version for `initialize`, where the server refuses the latest. */
  #askedVersion: string | undefined

  constructor(context: ServerContext, record: () => ServerRecord) {
    this.#context = context
    this.#record = record
    this.#era = new ServerEra(context, record().id)
  }

  /** The transport in effect, if not the configured one. */
  get otherTransport(): TransportName | undefined {
    return this.#transport.other
  }

  /** True when the findings are old enough to be probed again. */
  get stale(): boolean {
    return this.#era.stale || this.#transport.stale
  }

  /** Restores earlier findings that were stored with the lists. */
  restore(catalog: Pick<ServerCatalog, 'transport' | 'readAt' | 'askedVersion'>): void {
    this.#transport.restore(catalog)
    this.#askedVersion = catalog.askedVersion
  }

  /** The configuration with the transport in effect. Throws HubError. */
  async configured(): Promise<EffectiveServer> {
    const effective = this.#transport.apply(await this.#context.effective(this.#record().id))
    return this.#askedVersion === undefined ? effective : { ...effective, askedVersion: this.#askedVersion }
  }

  /** The era to connect with; probes where it is not known. `still`: false once the result is no longer needed. */
  era(plan: LaunchPlan, configHash: string, still: () => boolean): Promise<Era> {
    return this.#era.decide(plan, configHash, { still })
  }

  /** The next connection probes both again. */
  forget(): void {
    this.#era.forget()
    this.#transport.forget()
    this.#askedVersion = undefined
  }

  /** The next connection tries the configured transport first. */
  forgetTransport(): void {
    this.#transport.forget()
  }

  /** A connection was opened. */
  opened({ askedVersion }: Pick<OpenedMessage, 'askedVersion'>): void {
    this.#transport.opened()
    this.#askedVersion = askedVersion
  }

  /** A connection has ended. `shown`: the end with the reason to show; `retry`: what it showed is to be tried now. */
  ended(
    settings: ServerSettings | undefined,
    given: ConnectionEnd,
  ): { readonly shown: ConnectionEnd; readonly outcome: ConnectionEnd | 'retry' } {
    const { nextVersion } = given.reason.data ?? {}
    if (!given.wasOpen && typeof nextVersion === 'string') {
      this.#askedVersion = nextVersion
      return { shown: given, outcome: 'retry' }
    }
    // An unreachable server says nothing about versions.
    if (!given.wasOpen && given.reason.code !== 'connection_lost') this.#askedVersion = undefined
    if (this.#era.ended(given)) return { shown: given, outcome: 'retry' }
    const shown = this.#era.explained(given)
    return { shown, outcome: this.#transport.ended(settings, shown) }
  }

  /** True when the server speaks something else now than over a connection of this version, so that a reconnect is due. */
  outdated(protocolVersion: string | undefined): boolean {
    const { known } = this.#era
    const other = protocolVersion !== undefined && known !== undefined && known !== eraOf(protocolVersion)
    return other || this.#transport.outdated
  }

  /** Probes era and transport again. Never rejects. */
  async probe(still: () => boolean): Promise<void> {
    const context = this.#context
    const bySse = this.#transport.other !== undefined
    try {
      // A server used by SSE is probed for Streamable HTTP.
      const effective = await context.effective(this.#record().id)
      const plan = await context.launcher.ready(await context.launcher.prepare(this.#record().id, effective), still)
      if (!still()) return
      const era = await this.#era.decide(plan, effective.configHash, { afresh: true, still })
      if (!bySse || !still()) return
      const speaks = era === 'modern' || (await this.#speaks(plan))
      if (still()) this.#transport.asked(speaks)
    } catch (error) {
      const { id: serverId, ownerId } = this.#record()
      context.log.debug('What a server speaks could not be probed again', { serverId, ownerId, error: String(error) })
    }
  }

  /** Aborts the probe of a connection in progress. */
  async abandon(reason: WireError): Promise<void> {
    await this.#era.abandon(reason)
  }

  async #speaks(plan: LaunchPlan): Promise<boolean> {
    const probe = openProbe(this.#context.launcher, plan, 'legacy')
    const { kind } = await probe.outcome
    await probe.end({ code: 'stopped', message: 'The server has said which transport it speaks' })
    return kind === 'opened'
  }
}
