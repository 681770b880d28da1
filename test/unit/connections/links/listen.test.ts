import { beforeEach, describe, expect, test } from 'bun:test'
import { Listen } from '../../../../core/connections/links/listen.ts'
import type { JsonObject } from '../../../../core/contract/json.ts'

interface Asked {
  readonly id: number
  readonly uris: readonly string[]
}

let asked: Asked[]
let dropped: number[]
let subscribed: [number, string, boolean][]
let listen: Listen

beforeEach(() => {
  asked = []
  dropped = []
  subscribed = []
  listen = new Listen({
    request: ({ resourceSubscriptions = [] }: JsonObject) => {
      const id = asked.length + 1
      asked.push({ id, uris: resourceSubscriptions as string[] })
      return { id, over: new Promise(() => {}) }
    },
    drop: id => dropped.push(id),
    arm: () => {},
    subscribed: (...how) => subscribed.push(how),
    resumed: () => {},
    log: () => {},
  })
})

/** The clock strikes: what is due is asked for. */
const due = () => listen.sweep(Number.POSITIVE_INFINITY)
const acknowledge = ({ id, uris } = asked.at(-1) as Asked) =>
  listen.acknowledged(id, { resourceSubscriptions: [...uris] })

describe('Listen', () => {
  test('a subscription stands once the upstream has acknowledged a stream with it', () => {
    listen.subscribe('a:', 1)
    due()
    expect(subscribed).toEqual([])
    acknowledge()
    expect(subscribed).toEqual([[1, 'a:', true]])
    listen.subscribe('a:', 2)
    expect(subscribed.at(-1)).toEqual([2, 'a:', true])
    expect(asked).toHaveLength(1)
  })

  test('one that was just left, and is asked for again before the next stream, is on that stream', () => {
    listen.subscribe('a:', 1)
    listen.subscribe('b:', 2)
    due()
    acknowledge()
    listen.unsubscribe('a:')
    listen.subscribe('a:', 3)
    due()
    acknowledge()
    expect(asked.at(-1)?.uris.toSorted()).toEqual(['a:', 'b:'])
    expect(subscribed).toContainEqual([3, 'a:', true])
  })

  test('one that is asked for again while a stream without it is on its way stands with the stream after that', () => {
    listen.subscribe('a:', 1)
    listen.subscribe('b:', 2)
    due()
    acknowledge()
    listen.unsubscribe('a:')
    due()
    listen.subscribe('a:', 3)
    expect(subscribed).toHaveLength(2)
    acknowledge()
    expect(subscribed).toHaveLength(2)
    due()
    acknowledge()
    expect(subscribed.at(-1)).toEqual([3, 'a:', true])
    expect(asked.at(-1)?.uris.toSorted()).toEqual(['a:', 'b:'])
  })

  const updated = 'notifications/resources/updated'
  /** Two streams, of which the second has just taken the place of the first. */
  const replace = () => {
    listen.subscribe('a:', 1)
    due()
    acknowledge()
    listen.subscribe('b:', 2)
    due()
    acknowledge()
  }

  test('what was sent on the old stream alone is heard after the new one stands, and what both bring is heard once', () => {
    replace()
    expect(dropped).toEqual([])
    expect(listen.accepts(1, updated, 'a:')).toBe(true)
    expect(listen.accepts(1, updated, 'a:')).toBe(true)
    expect(listen.accepts(2, updated, 'a:')).toBe(false)
    expect(listen.accepts(2, updated, 'b:')).toBe(true)
    expect(listen.accepts(2, updated, 'a:')).toBe(false)
    expect(listen.accepts(2, updated, 'a:')).toBe(true)
    expect(listen.accepts(1, updated, 'a:')).toBe(false)
    expect(listen.accepts(3, updated, 'a:')).toBe(false)
  })

  test('the old stream is dropped a little later, and after that is heard no more', () => {
    replace()
    const nextMs = listen.sweep(performance.now())
    expect(nextMs).toBeLessThan(performance.now() + 2_000)
    listen.sweep(nextMs)
    expect(dropped).toEqual([1])
    expect(listen.accepts(1, updated, 'a:')).toBe(false)
    expect(listen.accepts(2, updated, 'a:')).toBe(true)
  })

  test('a third stream ends the overlap of the first two', () => {
    replace()
    listen.unsubscribe('a:')
    listen.sweep(performance.now() + 100)
    acknowledge()
    expect(dropped).toEqual([1])
    expect(listen.accepts(1, updated, 'b:')).toBe(false)
    expect(listen.accepts(2, updated, 'b:')).toBe(true)
    expect(listen.accepts(3, updated, 'b:')).toBe(false)
  })
})
