/** Lists of the market's sources: whole or not at all, kept over a restart, bounded, and searched quickly. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MarketCache } from '../../../plugins/market/cache.ts'
import { KeptLists } from '../../../plugins/market/kept-list.ts'
import { searchTemplates } from '../../../plugins/market/search.ts'
import type { MarketSource, MarketTemplate } from '../../../plugins/market/types.ts'
import { walkSource } from '../../../plugins/market/walk.ts'
import { beyondCore } from '../../support/extent.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'
import { slowness } from '../../support/work.ts'

const TEMPLATE: MarketTemplate = {
  ...{ name: 'files', title: 'Files', description: { en: 'Reads files', zh: '读取文件' }, version: '1.0.0' },
  ...{ categories: ['files'], inputs: [] },
  variants: [{ id: 'npm', kind: 'npm', package: '@scope/files', version: '1.0.0' }],
}
const ON = { offline: false, off: [] }
const log = { warn() {} }
const neverStopped = new AbortController().signal
const named = (name: string) => ({ ...TEMPLATE, name })
const local = (source: Omit<MarketSource, 'label' | 'refreshMs'>): MarketSource => ({
  ...{ label: 'Pages', refreshMs: 0, network: false },
  ...source,
})
const only = (source: MarketSource) => ({ sources: () => new Map([['pages', source]]), log })

describe('a list', () => {
  test('is taken as a whole or not at all, and says why', async () => {
    let broken = false
    const source = local({
      async page({ cursor }) {
        if (cursor === undefined) return { templates: [TEMPLATE, { ...TEMPLATE, title: '' }], next: '2' }
        if (broken) throw new Error('gone')
        return { templates: [named('other')] }
      },
    })
    const cache = new MarketCache(only(source))
    expect((await cache.all(ON)).map(({ id }) => id)).toEqual(['pages:files', 'pages:other'])
    expect(await cache.states(ON)).toMatchObject([{ id: 'pages', state: 'ready', templates: 2, leftOut: 1 }])
    broken = true
    const failed = { state: 'failed', templates: 2, lastError: { code: 'upstream_protocol', message: 'gone' } }
    expect(await cache.refresh('pages', ON)).toMatchObject(failed)
    expect(await cache.all(ON)).toHaveLength(2)
    expect(cache.refresh('none', ON)).rejects.toMatchObject({ code: 'source_not_found' })
    cache.dispose()
  })

  test('without an end fails, whatever its cursors say', async () => {
    let asked = 0
    const source = local({
      async page() {
        asked += 1
        return { templates: [named(`n${asked}`)], next: String(asked) }
      },
    })
    expect(walkSource('pages', source, new AbortController().signal)).rejects.toMatchObject({
      code: 'upstream_protocol',
      message: 'The list has no end: after 1000 pages there is still another one',
    })
    await until(() => asked === 1_000)
  })

  beyondCore(() => {
    test('of more than 64 MiB, or 50,000 templates, is cut there, and what is left out is counted', async () => {
      const text = 'x'.repeat(500)
      const tags = Array.from({ length: 50 }, (_, at) => `${at}${'y'.repeat(60)}`)
      const fat = (name: string): MarketTemplate => ({
        ...{ ...named(name), description: text, message: text, tags },
        inputs: Array.from({ length: 40 }, (_, at) => ({ name: `i${at}`, description: 'z'.repeat(1_000) })),
      })
      let page = 0
      const source = local({
        async page() {
          page += 1
          return {
            templates: Array.from({ length: 100 }, (_, at) => fat(`p${page}-${at}`)),
            next: page < 20 ? `${page}` : '',
          }
        },
      })
      const { listed, leftOut } = await walkSource('pages', source, new AbortController().signal)
      const bytes = listed.reduce((sum, { template }) => sum + JSON.stringify(template).length, 0)
      expect(bytes).toBeGreaterThan(60 * 1024 * 1024)
      expect(bytes).toBeLessThanOrEqual(64 * 1024 * 1024)
      expect(listed.length + leftOut).toBe(2_000)
    }, 120_000)

    test('of 20,000 leaves turns to others, and is searched in 20 ms of processor time', async () => {
      const many = Array.from({ length: 20_000 }, (_, at) => ({ ...named(`n${at}`), title: `Files ${at}` }))
      const source = local({ page: async () => ({ templates: many }) })
      let turns = 0
      const timer = setInterval(() => {
        turns += 1
      }, 1)
      const cache = new MarketCache(only(source))
      const all = await cache.all(ON)
      clearInterval(timer)
      expect(turns).toBeGreaterThan(20)
      expect(all).toHaveLength(20_000)
      expect(searchTemplates(all, { q: 'Ｆiles 19999' }).map(({ id }) => id)).toEqual(['pages:n19999'])
      const times = Array.from({ length: 9 }, () => {
        const before = process.cpuUsage()
        expect(searchTemplates(all, { q: '读取 777' }).length).toBeGreaterThan(0)
        const { user, system } = process.cpuUsage(before)
        return (user + system) / 1_000
      }).sort((one, other) => one - other)
      expect(times[2]).toBeLessThan(20 * slowness())
      cache.dispose()
    })
  })
})

describe('a source of the network', () => {
  let folder: string
  beforeAll(async () => {
    folder = await makeTemp('market')
  })
  afterAll(() => removeTemp(folder))

  test('is known after a restart with the times from which its changes are asked for', async () => {
    const lists = new KeptLists(join(folder, 'times'))
    const { listed } = await walkSource('one', local({ page: async () => ({ templates: [TEMPLATE] }) }), neverStopped)
    const [begunAt, wholeAt, readAt] = [new Date(3_000), new Date(1_000), new Date(5_000)]
    await lists.write('one', 'place', { listed, leftOut: 0, readAt, begunAt, wholeAt })
    expect(await lists.read('one', 'place')).toEqual({ listed, leftOut: 0, readAt, begunAt, wholeAt })
    await lists.write('one', 'place', { listed, leftOut: 2, readAt })
    expect(await lists.read('one', 'place')).toEqual({ listed, leftOut: 2, readAt })
  })

  const remote = (source: Pick<MarketSource, 'page'> & Partial<MarketSource>): MarketSource => ({
    ...{ label: 'Remote', refreshMs: 3_600_000, place: 'https://one.example/' },
    ...source,
  })
  const opened = (source: MarketSource, name = 'kept') =>
    new MarketCache({ ...only(source), kept: new KeptLists(join(folder, name)) })
  const none = remote({
    page: async () => {
      throw new Error('not asked for')
    },
  })

  test('has its list after a restart, with its age, and is not asked before its time', async () => {
    const first = opened(remote({ page: async () => ({ templates: [TEMPLATE, named('two')] }) }))
    expect(await first.refresh('pages', ON)).toMatchObject({ state: 'ready', templates: 2 })
    first.dispose()
    expect(await readdir(join(folder, 'kept'))).toEqual(['pages.jsonl'])
    expect(await readFile(join(folder, 'kept', 'pages.jsonl'), 'utf8')).not.toContain('one.example')
    const second = opened(none)
    expect(await second.all(ON)).toHaveLength(2)
    const [state] = await second.states(ON)
    expect(state).toMatchObject({ state: 'ready', templates: 2, ageMs: expect.any(Number) })
    expect(Date.parse(state?.nextTryAt ?? '')).toBeGreaterThan(Date.now() + 3_000_000)
    second.dispose()
    const moved = opened({ ...none, place: 'https://two.example/' })
    expect(await moved.all(ON)).toHaveLength(0)
    moved.dispose()
  })

  test.each([
    ['cut', (text: string) => text.slice(0, text.length / 2)],
    ['without its last line', (text: string) => text.split('\n').slice(0, -2).join('\n')],
    ['of another program', () => 'hello\n'],
    ['empty', () => ''],
  ])('whose kept list is %s starts without one', async (what, change) => {
    const first = opened(remote({ page: async () => ({ templates: [TEMPLATE, named('two')] }) }), what)
    await first.refresh('pages', ON)
    first.dispose()
    const path = join(folder, what, 'pages.jsonl')
    await writeFile(path, change(await readFile(path, 'utf8')))
    const second = opened(none, what)
    expect(await second.all({ ...ON, offline: true })).toHaveLength(0)
    second.dispose()
  })

  test('is not waited for by those who browse, and is 503 for those who want it alone', async () => {
    const open = Promise.withResolvers<undefined>()
    const slow = remote({
      async page() {
        await open.promise
        return { templates: [TEMPLATE] }
      },
    })
    const cache = new MarketCache(only(slow))
    expect(await cache.all(ON)).toEqual([])
    expect(await cache.states(ON)).toMatchObject([{ state: 'loading', templates: 0 }])
    expect(cache.of('pages', ON)).rejects.toMatchObject({ code: 'market_unavailable', status: 503 })
    const wanted = cache.of('pages', ON)
    open.resolve(undefined)
    expect([...(await wanted).keys()]).toEqual(['files'])
    cache.dispose()
  })

  test('that fails is asked again after 1, 5 and 25 minutes', async () => {
    let nowMs = 0
    let asked = 0
    const source = remote({
      async page() {
        asked += 1
        throw new Error('down')
      },
    })
    const cache = new MarketCache({ ...only(source), now: () => nowMs })
    for (const [index, minutes] of [1, 5, 25, 25].entries()) {
      await cache.all(ON)
      await until(() => asked === index + 1)
      await until(async () => (await cache.states(ON))[0]?.lastError !== undefined && (await ended(cache)))
      nowMs += minutes * 60_000 - 1
      await cache.all(ON)
      expect(asked).toBe(index + 1)
      nowMs += 1
    }
    cache.dispose()
  })

  const ended = async (cache: MarketCache): Promise<boolean> => (await cache.states(ON))[0]?.state === 'failed'

  test('is not asked while it is switched off or the hub is offline', async () => {
    let asked = 0
    const source = remote({
      async page() {
        asked += 1
        return { templates: [TEMPLATE] }
      },
    })
    const cache = new MarketCache(only(source))
    const off = { offline: false, off: ['pages'] }
    const offline = { offline: true, off: [] }
    expect(await cache.all(off)).toEqual([])
    expect(await cache.refresh('pages', off)).toMatchObject({ state: 'off', templates: 0 })
    expect(await cache.refresh('pages', offline)).toMatchObject({ state: 'offline', templates: 0 })
    expect(cache.of('pages', off)).rejects.toMatchObject({ code: 'market_unavailable' })
    expect(cache.of('pages', offline)).rejects.toThrow('MARKET_OFFLINE')
    expect(asked).toBe(0)
    await cache.refresh('pages', ON)
    expect(await cache.all(offline)).toHaveLength(1)
    expect(await cache.states(offline)).toMatchObject([{ state: 'offline', templates: 1 }])
    expect(await cache.all(off)).toEqual([])
    cache.dispose()
  })
})
