import { Signal } from '@lit-labs/signals'
import { api } from '../api/client.ts'
import { live } from './live.ts'
import type { PlaceDefinition } from './part.ts'
import { placesNow } from './places.ts'

/** Pause before a count is read again, in milliseconds, so that many events cause few requests. */
const PAUSE_MS = 1_000

/** Numbers that pages of plugins have in the rail, kept up to date by the live stream. */
export class PlaceCounts {
  readonly #counts = new Signal.State<Readonly<Record<string, number>>>({})
  readonly #due = new Set<string>()
  #stop: (() => void) | undefined
  #pause: ReturnType<typeof setTimeout> | undefined
  #abort = new AbortController()

  /** The number of a place; 0 where it has none, or nothing is known. */
  of({ id }: PlaceDefinition): number {
    return this.#counts.get()[id] ?? 0
  }

  start(): void {
    this.stop()
    this.#abort = new AbortController()
    const all = (): void => this.#soon(() => true)
    this.#stop = live.subscribe(
      ['plugins', 'servers'],
      ({ event }) => {
        if (event === 'plugin.changed') all()
        else this.#soon(({ count }) => count !== undefined && event.startsWith(count.events))
      },
      all,
    )
    all()
  }

  stop(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#abort.abort()
    clearTimeout(this.#pause)
    this.#pause = undefined
    this.#due.clear()
    this.#counts.set({})
  }

  #soon(concerned: (place: PlaceDefinition) => boolean): void {
    for (const place of placesNow()) if (place.count && concerned(place)) this.#due.add(place.id)
    if (this.#due.size === 0) return
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined
      void this.#read()
    }, PAUSE_MS)
  }

  async #read(): Promise<void> {
    const { signal } = this.#abort
    const due = placesNow().filter(({ id }) => this.#due.has(id))
    this.#due.clear()
    for (const { id, count } of due) {
      if (!count) continue
      const { path, query = {}, member } = count
      // A count that cannot be read is not shown: an old one could be wrong.
      const answer = await api.get<Readonly<Record<string, unknown>>>(path, { query, signal }).catch(() => undefined)
      if (signal.aborted) return
      const number = answer?.[member]
      this.#counts.set({ ...this.#counts.get(), [id]: typeof number === 'number' ? number : 0 })
    }
  }
}

/** Numbers of pages of plugins in this tab. */
export const placeCounts = new PlaceCounts()
