import { Signal } from '@lit-labs/signals'
import { api } from '../api/client.ts'
import type { Health, PublicInfo } from '../api/types.ts'
import { live } from './live.ts'

/** Counts of the rail and facts about the hub that the frame shows, kept up to date by the live stream. */
export class HubState {
  readonly #health = new Signal.State<Health | undefined>(undefined)
  readonly #info = new Signal.State<PublicInfo | undefined>(undefined)
  readonly #counts = new Signal.State<Readonly<Record<string, number>>>({})
  #stop: (() => void) | undefined
  #pause: ReturnType<typeof setTimeout> | undefined

  get health(): Health | undefined {
    return this.#health.get()
  }

  get info(): PublicInfo | undefined {
    return this.#info.get()
  }

  /** By place: servers, groups, assistant, and the firing alerts. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts.get()
  }

  start(): void {
    this.stop()
    void this.#read()
    this.#stop = live.subscribe(
      ['servers', 'alerts'],
      ({ event }) => {
        if (event !== 'server.health') this.#soon()
      },
      () => this.#soon(),
    )
  }

  stop(): void {
    this.#stop?.()
    clearTimeout(this.#pause)
    this.#pause = undefined
    this.#counts.set({})
  }

  #soon(): void {
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined
      void this.#read()
    }, 1000)
  }

  async #read(): Promise<void> {
    const total = async (path: string, query: Record<string, string | number>): Promise<number> =>
      (await api.get<{ total: number }>(path, { query: { limit: 1, ...query } })).total
    // Each count may fail alone: a plugin that is off, a quota.
    const [health, info, servers, groups, assistant, alerts] = await Promise.allSettled([
      api.get<Health>('/health'),
      api.get<PublicInfo>('/api/public/info'),
      total('/api/servers', { scope: 'visible' }),
      total('/api/groups', { scope: 'visible' }),
      total('/api/assistant/endpoints', {}),
      total('/api/monitoring/alerts', { state: 'firing' }),
    ])
    if (health.status === 'fulfilled') this.#health.set(health.value)
    if (info.status === 'fulfilled') this.#info.set(info.value)
    const counts: Record<string, number> = {}
    for (const [name, one] of Object.entries({ servers, groups, assistant, alerts })) {
      if (one.status === 'fulfilled') counts[name] = one.value
    }
    this.#counts.set(counts)
  }
}

/** State of the hub in this tab. */
export const hubState = new HubState()
