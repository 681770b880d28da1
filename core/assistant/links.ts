import { nameKey, parseRef } from '../domain/names.ts'
import type { EventBus } from '../events/bus.ts'
import type { Bridge, BridgeLink } from '../features/bridge.ts'
import { activeSettings, type OwnedSetting } from '../registry/owned/settings.ts'
import type { Store } from '../store/open.ts'
import { read } from '../store/transact.ts'
import { endpointOf } from './endpoint.ts'
import type { HubSide } from './hub-side.ts'
import { ENDPOINTS } from './kind.ts'

/** Time for calls to finish when an endpoint is changed or switched off, and when its owner loses it, in milliseconds. */
const GRACE_MS = { changed: 30_000, lost: 0 } as const
const NORMAL = 1000
const GOING_AWAY = 1001

/** Dependencies of the table of links. */
export interface LinksDeps {
  readonly store: Store
  readonly bus: Pick<EventBus, 'emit' | 'on'>
  readonly hubSide: HubSide
  /** Undefined while no plugin serves assistants, or they are off. */
  readonly bridge: () => Bridge | undefined
  /** Called for errors of results that are not awaited. */
  readonly failed: (error: unknown) => void
}

/** An endpoint that is served. */
export interface Served {
  readonly setting: OwnedSetting
  readonly bridge: Bridge
  readonly link: BridgeLink
  /** The state that was last reported. */
  state: string
}

/** The link of each endpoint that is on, kept in step with the store, the owners and the plugin. */
export class Links {
  readonly #deps: LinksDeps
  readonly #served = new Map<string, Served>()
  /** Links that end: the next one of their endpoint begins when they have. */
  readonly #ending = new Map<string, Promise<void>>()
  readonly #unlisten: readonly (() => void)[]
  #work: Promise<void> = Promise.resolve()
  readonly #ready = Promise.withResolvers<void>()
  #begun = false
  #stopped = false

  constructor(deps: LinksDeps) {
    this.#deps = deps
    const { bus } = deps
    const ownerChanged = (ownerId: string) => void this.changed(ownerId)
    this.#unlisten = [
      bus.on('user.updated', ({ data }) => ownerChanged(data.userId)),
      bus.on('user.removed', ({ data }) => ownerChanged(data.userId)),
      bus.on('plugin.changed', () => void this.changed()),
    ]
  }

  get(endpointId: string): BridgeLink | undefined {
    return this.#served.get(endpointId)?.link
  }

  /** The endpoint of an inbound token, by the token's hash. */
  byToken(hash: string): Served | undefined {
    return [...this.#served.values()].find(({ setting }) => endpointOf(setting).tokenHash === hash)
  }

  /** The inbound endpoint of this reference, `owner~name`. */
  named(ref: string): Served | undefined {
    const { owner, name } = parseRef(ref)
    if (owner === undefined) return undefined
    const wanted = `${nameKey(owner)}~${nameKey(name)}`
    return [...this.#served.values()].find(
      ({ setting }) =>
        endpointOf(setting).direction === 'inbound' &&
        `${nameKey(setting.owner.name)}~${nameKey(setting.name)}` === wanted,
    )
  }

  /** Resolves when the link that is ending has ended, if there is one. */
  async ended(endpointId: string): Promise<void> {
    await this.#ending.get(endpointId)
  }

  /** Delays the endpoint's next link until the work has ended, such as a test of a disabled endpoint. Never rejects. */
  hold(endpointId: string, work: Promise<unknown>): void {
    const over = work.then(
      () => void this.#ending.delete(endpointId),
      () => void this.#ending.delete(endpointId),
    )
    this.#ending.set(endpointId, over)
  }

  async begin(): Promise<void> {
    this.#begun = true
    await this.changed()
    this.#ready.resolve()
  }

  /** True when no link begins any more. */
  get stopped(): boolean {
    return this.#stopped
  }

  /** Resolves when the links have begun: before that every token would be a wrong one. */
  get ready(): Promise<void> {
    return this.#ready.promise
  }

  /** Resolves when the links match the present endpoints of the owner, or of all owners. Never rejects. */
  changed(ownerId?: string): Promise<void> {
    if (!this.#begun || this.#stopped) return Promise.resolve()
    this.#work = this.#work.then(() => this.#follow(ownerId)).catch(this.#deps.failed)
    return this.#work
  }

  /** Ends all links after their calls, with the code of a hub that stops. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true
    this.#ready.resolve()
    for (const unlisten of this.#unlisten) unlisten()
    await this.#work
    for (const id of [...this.#served.keys()]) this.#end(id, GOING_AWAY, graceMs)
    await Promise.all(this.#ending.values())
  }

  async #follow(ownerId: string | undefined): Promise<void> {
    const bridge = this.#deps.bridge()
    const all = bridge ? await read(this.#deps.store, db => activeSettings(db, ENDPOINTS, { ownerId })) : []
    const wanted = new Map(all.filter(setting => endpointOf(setting).enabled).map(setting => [setting.id, setting]))
    const owners = new Set(all.map(({ owner }) => owner.id))
    const concerned = [...this.#served].filter(
      ([, { setting }]) => ownerId === undefined || setting.owner.id === ownerId,
    )
    for (const [id, { setting, bridge: by }] of concerned) {
      if (wanted.get(id)?.revision === setting.revision && by === bridge) continue
      const lost = !owners.has(setting.owner.id) && !wanted.has(id)
      this.#end(id, NORMAL, lost ? GRACE_MS.lost : GRACE_MS.changed)
    }
    for (const [id, setting] of wanted) {
      if (!bridge || this.#served.has(id)) continue
      if (this.#ending.has(id)) void this.#ending.get(id)?.then(() => this.changed(setting.owner.id))
      else this.#serve(bridge, setting)
    }
  }

  #serve(bridge: Bridge, setting: OwnedSetting): void {
    const link = bridge.serve(this.#deps.hubSide.endpoint(setting, () => this.#report(setting.id)))
    this.#served.set(setting.id, { setting, bridge, link, state: '' })
    this.#report(setting.id)
  }

  #end(id: string, code: number, graceMs: number): void {
    const served = this.#served.get(id)
    if (!served) return
    this.#served.delete(id)
    const ended = served.link
      .close(code, graceMs)
      .catch(this.#deps.failed)
      .finally(() => {
        this.#ending.delete(id)
        if (!this.#served.has(id)) this.#emit(served.setting, 'off')
      })
    this.#ending.set(id, ended)
  }

  #report(id: string): void {
    const served = this.#served.get(id)
    if (!served) return
    const state = String(served.link.status().state)
    if (state === served.state) return
    served.state = state
    this.#emit(served.setting, state)
  }

  #emit({ id, owner, name }: OwnedSetting, state: string): void {
    this.#deps.bus.emit('assistant.state', owner.id, { endpointId: id, name, state })
  }
}
