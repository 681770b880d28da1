import { beforeEach, describe, expect, test } from 'bun:test'
import { Listen } from '../../../../core/connections/worker/links/listen.ts'
import type { JsonObject } from '../../../../core/contract/json.ts'

interface Asked {
  readonly id: number
  readonly uris: readonly string[]
}

let asked: Asked[]
let dropped: number[]
let subscribed: [number, string, boolean][]
let over: (() => void)[]
let settled: number
let listen: Listen

beforeEach(() => {
  asked = []
  dropped = []
  subscribed = []
  over = []
  settled = 0
  listen = new Listen({
    request: ({ resourceSubscriptions = [] }: JsonObject) => {
      const id = asked.length + 1
      asked.push({ id, uris: resourceSubscriptions as string[] })
      const { promise, resolve } = Promise.withResolvers<void>()
      over.push(resolve)
      return { id, over: promise }
    },
    drop: id => dropped.push(id),
    arm: () => {},
    subscribed: (...how) => subscribed.push(how),
    resumed: () => {},
    settled: () => {
      settled += 1
    },
    log: () => {},
  })
})

/** Moves the clock on, so that due requests are sent. */
const due = () => listen.sweep(performance.now() + 100)
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
  /** Two streams: the second has just replaced the first. */
  const replace = () => {
    listen.subscribe('a:', 1)
    due()
    acknowledge()
    listen.subscribe('b:', 2)
    due()
    acknowledge()
  }

  test('a message on the old stream alone still arrives after the new one is open, and one on both arrives once', () => {
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

  test('the old stream is dropped a little later, and nothing of it arrives after that', () => {
    replace()
    const nextMs = listen.sweep(performance.now())
    expect(nextMs).toBeLessThan(performance.now() + 2_000)
    listen.sweep(nextMs)
    expect(dropped).toEqual([1])
    expect(listen.accepts(1, updated, 'a:')).toBe(false)
    expect(listen.accepts(2, updated, 'a:')).toBe(true)
  })

  test('a message of the first of three streams is not repeated for the others, whenever it comes there', () => {
    replace()
    expect(listen.accepts(1, updated, 'a:')).toBe(true)
    listen.subscribe('c:', 3)
    due()
    acknowledge()
    expect(dropped).toEqual([])
    expect(listen.accepts(2, updated, 'a:')).toBe(false)
    expect(listen.accepts(3, updated, 'a:')).toBe(false)
    expect(listen.accepts(3, updated, 'a:')).toBe(true)
    expect(listen.accepts(1, updated, 'a:')).toBe(false)
  })

  test('messages of the older streams before the newest is open do not suppress those of the newest', () => {
    replace()
    expect(listen.accepts(1, updated, 'a:')).toBe(true)
    listen.subscribe('c:', 3)
    due()
    acknowledge()
    listen.sweep(performance.now() + 100_000)
    expect(dropped).toEqual([1, 2])
    expect(listen.accepts(3, updated, 'a:')).toBe(true)
  })

  describe('an update before an unsubscribe does not suppress one after the next subscribe', () => {
    const next = (wish: () => void) => {
      // Each is a little later than the one before, so that they are handled one by one.
      for (const sinceMs = performance.now(); performance.now() <= sinceMs; );
      wish()
      due()
      acknowledge()
    }

    test('if the streams of that update end afterwards', () => {
      replace()
      for (const stream of [1, 2]) listen.accepts(stream, updated, 'a:')
      next(() => listen.unsubscribe('a:'))
      next(() => listen.subscribe('a:', 3))
      expect(asked.map(({ uris }) => uris.toSorted())).toEqual([['a:'], ['a:', 'b:'], ['b:'], ['a:', 'b:']])
      listen.sweep(listen.sweep(listen.sweep(performance.now())))
      expect(dropped).toEqual([1, 2])
      expect(listen.accepts(4, updated, 'a:')).toBe(true)
      expect(listen.accepts(3, updated, 'b:')).toBe(true)
      expect(listen.accepts(4, updated, 'b:')).toBe(false)
    })

    test('if they have ended before', () => {
      replace()
      for (const stream of [1, 2]) listen.accepts(stream, updated, 'a:')
      next(() => listen.unsubscribe('a:'))
      next(() => listen.subscribe('c:', 3))
      listen.sweep(listen.sweep(listen.sweep(performance.now())))
      expect(dropped).toEqual([1, 2])
      next(() => listen.subscribe('a:', 4))
      expect(asked.at(-1)?.uris.toSorted()).toEqual(['a:', 'b:', 'c:'])
      expect(listen.accepts(5, updated, 'a:')).toBe(true)
      for (const [stream, isNews] of [
        [4, true],
        [5, false],
        [3, false],
      ] as const)
        expect(listen.accepts(stream, updated, 'b:')).toBe(isNews)
    })
  })

  test('four streams are held at most: the next is opened once the oldest has gone', () => {
    for (const [at, uri] of ['a:', 'b:', 'c:', 'd:'].entries()) {
      listen.subscribe(uri, at)
      listen.sweep(performance.now() + 100)
      acknowledge()
    }
    listen.subscribe('e:', 5)
    listen.sweep(performance.now() + 100)
    expect(asked).toHaveLength(4)
    listen.sweep(performance.now() + 100_000)
    expect(asked).toHaveLength(5)
    expect(dropped).toEqual([1, 2, 3])
  })

  test('a stream that the upstream ends while others are held for a while ends those too, and the next is opened', async () => {
    replace()
    over.at(-1)?.()
    await Promise.resolve()
    await Promise.resolve()
    expect(dropped).toEqual([1])
    due()
    expect(asked.at(-1)?.uris.toSorted()).toEqual(['a:', 'b:'])
  })

  test.each([
    ['stands', () => acknowledge()],
    ['is late', () => listen.sweep(performance.now() + 1_100)],
  ])('what waits for the first stream goes on when it %s, once', (_how, comes) => {
    listen.begin({ tools: { listChanged: true } })
    due()
    expect([listen.settling, settled]).toEqual([true, 0])
    comes()
    expect([listen.settling, settled]).toEqual([false, 1])
    acknowledge()
    listen.sweep(performance.now() + 1_100)
    expect(settled).toBe(1)
  })

  test('nothing waits for a stream that a server without notices does not have', () => {
    listen.begin({ tools: {} })
    expect(listen.settling).toBe(false)
  })
})
