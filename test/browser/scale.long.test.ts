/** The console with 2,000 servers and a large log: what one interaction costs the main thread of a real browser. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import type { Hub } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { slowness } from '../support/work.ts'
import { type ConsoleTab, openBrowser, openTab } from './support/console.ts'
import { NOISY, startLargeHub } from './support/large-hub.ts'
import { type MainThreadWork, mainThreadWork } from './support/main-thread.ts'

const SERVERS = 2_000
const ROWS = SERVERS + NOISY.length
const RECORDS = extent(20_000, 1_000_000)
const TAIL_SECONDS = 30
const PER_SECOND = 200
/** Most script and layout of one interaction, and longest task of the live tail, on a machine of usual speed, in milliseconds. */
const MOST = { interaction: 100, task: 50 }

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(
  async () => {
    browser = await openBrowser()
    hub = await startLargeHub(SERVERS, RECORDS)
    admin = await hub.setup()
    await online(
      admin,
      NOISY.map(name => `admin~${name}`),
    )
  },
  extent(120_000, 600_000),
)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Measures interactions with a page. Each ends when its effect is visible. */
class Interactions {
  /** Interactions that took too long, by their place in the journey. */
  readonly over = new Map<number, string>()
  readonly #page: Page
  #measured = 0

  constructor(page: Page) {
    this.#page = page
  }

  /** `done`: a script that answers true in the page when the interaction has had its effect. */
  async measure(name: string, act: () => Promise<unknown>, done: string): Promise<void> {
    const work = await mainThreadWork(browser, this.#page, async () => {
      await act()
      await holds(this.#page, done)
    })
    console.log(`${name}: ${described(work)}`)
    this.#measured += 1
    const ms = work.script + work.layout
    if (ms <= MOST.interaction) return
    // Asked only now, since it takes a third of a second, and the machine's speed changes while others use it.
    const limit = MOST.interaction * slowness()
    if (ms > limit) this.over.set(this.#measured, `${name}: ${described(work)}; at most ${limit.toFixed(0)} ms`)
  }

  /** A click, whose place is looked up before the measurement. */
  async click(name: string, selector: string, done: string, besides?: () => Promise<unknown>): Promise<void> {
    const target = this.#page.locator(selector).first()
    await target.scrollIntoViewIfNeeded()
    await target.hover()
    const box = await target.boundingBox()
    if (!box) throw new Error(`${selector} is not to be seen`)
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
    await this.measure(name, () => Promise.all([besides?.(), this.#page.mouse.click(x, y)]), done)
  }

  async key(name: string, key: string, done: string, besides?: () => Promise<unknown>): Promise<void> {
    await this.measure(name, () => Promise.all([besides?.(), this.#page.keyboard.press(key)]), done)
  }
}

/** Throws if interactions take too long twice. Those that were slow once are measured again, since other programs disturb. */
async function judge(journey: (tab: ConsoleTab, at: Interactions) => Promise<void>): Promise<void> {
  const run = async (): Promise<ReadonlyMap<number, string>> => {
    const tab = await openTab(browser, hub, admin)
    const at = new Interactions(tab.page)
    await journey(tab, at)
    await tab.close()
    return at.over
  }
  const first = await run()
  if (first.size === 0) return
  const second = await run()
  expect([...second].filter(([place]) => first.has(place)).map(([, text]) => text)).toEqual([])
}

function described({ script, layout, longest }: MainThreadWork): string {
  return `script ${script.toFixed(1)} ms, layout ${layout.toFixed(1)} ms, longest task ${longest.toFixed(1)} ms`
}

/** Waits for a script to answer true. Not by `waitForFunction`, whose scripts the policy of the page forbids. */
async function holds(page: Page, condition: string, timeoutMs = 30_000): Promise<void> {
  await until(async () => (await page.evaluate(condition)) === true, { what: condition, timeoutMs, intervalMs: 50 })
}

const asked = (name: string, value: string | null): string =>
  `new URLSearchParams(location.search).get('${name}') === ${JSON.stringify(value)}`
const rows = (count: string): string => `document.querySelector('pb-table')?.rows.length ${count}`
const records = (count: string): string => `document.querySelector('pb-log-rows')?.rows.length ${count}`
const atTheEnd = 'scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 1'
const seen = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}) !== null`
const unseen = (selector: string): string => `document.querySelector(${JSON.stringify(selector)}) === null`

test('the list of 2,000 servers: each interaction takes at most 100 ms of script', () => judge(useServers), 600_000)

async function useServers(tab: ConsoleTab, at: Interactions): Promise<void> {
  const { page } = tab
  await tab.open('/servers')
  await holds(page, rows(`=== ${ROWS}`))

  await page.focus('[data-search]')
  await at.key('Servers, letter g', 'g', asked('q', 'g'))
  // These are few enough to be drawn whole, if the limit were 200 rows.
  await at.key('Servers, digit 1', '1', asked('q', 'g1'))
  await at.key('Servers, a letter less', 'Backspace', asked('q', 'g'))
  await at.key('Servers, a letter less', 'Backspace', asked('q', null))
  for (const digits of ['github-1', 'github-']) {
    await page.fill('[data-search]', digits.slice(0, -1))
    await holds(page, asked('q', digits.slice(0, -1)))
    await at.key(`Servers, ${digits}`, digits.slice(-1), `${asked('q', digits)} && ${rows('> 50')}`)
  }
  await at.measure('Servers, no filter', () => page.fill('[data-search]', ''), rows(`=== ${ROWS}`))

  for (const column of ['Name', 'Name', 'Tools', 'Transport', 'State']) {
    const before = await page.evaluate('location.search')
    await at.click(
      `Servers, sort by ${column}`,
      `th button:has-text("${column}")`,
      `location.search !== ${JSON.stringify(before)}`,
    )
  }

  await at.click('Servers, choose one', 'tbody td.ck input', seen('.bulk'))
  await at.click('Servers, choose none', '.bulk button:has-text("Clear")', unseen('.bulk'))
  await at.click('Servers, choose all', 'thead input', seen('.bulk'))
  await at.click('Servers, dialog of groups', '.bulk button:has-text("Add to group")', seen('wa-dialog[open] .layer'))
  await page.keyboard.press('Escape')
  await holds(page, unseen('wa-dialog[open]'))
  await at.click('Servers, choose none', '.bulk button:has-text("Clear")', unseen('.bulk'))

  await page.focus('tbody tr[data-key]')
  await at.key('Servers, next row', 'ArrowDown', 'document.activeElement?.ariaRowIndex === "2"')
  await at.key('Servers, last row', 'End', `document.activeElement?.ariaRowIndex === "${ROWS}"`)
  await at.key('Servers, first row', 'Home', 'document.activeElement?.ariaRowIndex === "1"')
  await at.measure('Servers, wheel', () => page.mouse.wheel(0, 3_000), 'scrollY > 2900')
  await at.measure('Servers, scroll to the end', () => page.evaluate('scrollTo(0, 1e6)'), 'scrollY > 50000')
  await page.evaluate('scrollTo(0, 0)')
  await at.click('Servers, filters', '.filters button[aria-expanded]', seen('.morefilters'))
  await at.click('Servers, stopped ones', '.chip:has-text("Stopped")', asked('state', 'stopped'))
  await at.click('Servers, menu of a row', 'pb-row-menu button', seen('pb-row-menu wa-dropdown[open]'))
  await page.keyboard.press('Escape')
  await at.click(
    'Servers, scope',
    '.top .seg button:has-text("Mine")',
    `${asked('scope', 'mine')} && ${seen('.kept[aria-busy="false"]')}`,
    () => page.waitForResponse(/api\/servers\?.*scope=mine.*offset=1000/),
  )
  expect(await page.locator('tr[data-key]').count()).toBeLessThanOrEqual(100)
}

test('the log: each interaction takes at most 100 ms of script', () => judge(useLogs), 600_000)

// Half a minute each.
describe.each(extent([], ['over time']))('%s', () => {
  test(`${PER_SECOND} records a second in the live tail: no task of the page works longer than 50 ms`, async () => {
    const limit = MOST.task * slowness()
    const tails = await untilOne(['first', 'second'], async prefix => {
      const work = await tail(prefix, (page, act) => mainThreadWork(browser, page, act))
      console.log(`Live tail, traced: ${described(work)}; at most ${limit.toFixed(0)} ms`)
      return work.longest <= limit
    })
    expect(tails).toContain(true)
  }, 600_000)

  // Durations are taken by the clock and without a trace, which makes all tasks longer. Other programs on the machine delay a
  // tab at times; the page itself does the same in each.
  test(`${PER_SECOND} records a second in the live tail: the browser sees no long task`, async () => {
    const tails = await untilOne(['third', 'fourth', 'fifth'], async prefix => {
      const long = await tail(prefix, longTasks)
      console.log(`Live tail, long tasks in ms: ${long.map(Math.round).join(', ') || 'none'}`)
      return long.length === 0
    })
    expect(tails).toContain(true)
  }, 600_000)
})

/** Results of the tries, up to the first good one. */
async function untilOne(names: readonly string[], isGood: (name: string) => Promise<boolean>): Promise<boolean[]> {
  const tries: boolean[] = []
  for (const name of names) {
    if (tries.at(-1)) break
    tries.push(await isGood(name))
  }
  return tries
}

async function useLogs(tab: ConsoleTab, at: Interactions): Promise<void> {
  const { page } = tab
  await tab.open('/logs')
  await holds(page, records('> 0'))
  const found = () => page.waitForResponse(/api\/logs\/search/)

  await page.focus('[data-search]')
  await at.key('Logs, letter t', 't', asked('q', 't'), found)
  await at.key('Logs, letter i', 'i', asked('q', 'ti'), found)
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Backspace')
  await at.key('Logs, no query', 'Enter', `${asked('q', null)} && ${records('> 0')}`, found)
  await at.click(
    'Logs, without a level',
    '.legend button:has-text("INFO")',
    'location.search.includes("levels=")',
    found,
  )
  await at.click(
    'Logs, with all levels',
    '.legend button:has-text("INFO")',
    '!location.search.includes("levels=")',
    found,
  )
  await holds(page, records('> 0'))
  await at.click('Logs, a record', 'tr[data-key]', seen('pb-log-record h2'))
  await at.click(
    'Logs, next record',
    '[aria-label="Older record"]',
    'document.querySelector("tr.sel")?.ariaRowIndex === "3"',
  )
  await at.click('Logs, close the record', '[aria-label="Close record"]', unseen('pb-log-record h2'))
  for (let round = 0; round < 2; round += 1) {
    // A page has at most 1,000 records. It has fewer if the hub does not find that many within the time limit of a search.
    const before = Number(await page.evaluate(records('')))
    await at.click('Logs, load more', '.tf button:has-text("Load more")', records(`> ${before}`))
  }
  await page.evaluate('scrollTo(0, 0)')
  await at.measure('Logs, wheel', () => page.mouse.wheel(0, 3_000), 'scrollY > 2900')
  await at.measure('Logs, scroll to the end', () => page.evaluate('scrollTo(0, 1e6)'), atTheEnd)
  await page.evaluate('scrollTo(0, 0)')
  await at.click('Logs, drawer of filters', '.qrow button:has-text("Filters")', seen('#log-servers option'))
  await page.keyboard.press('Escape')
  await holds(page, unseen('wa-drawer[open]'))
  await at.click('Logs, scope', '.top .seg button:has-text("Mine")', asked('scope', 'mine'), found)
  await at.click(
    'Logs, scope',
    '.top .seg button:has-text("Visible")',
    `${asked('scope', null)} && ${records('> 0')}`,
    found,
  )
  expect(await page.locator('tr[data-key]').count()).toBeLessThanOrEqual(100)
}

/** Follows half a minute of records in a tab of its own, measured. */
async function tail<T>(prefix: string, measured: (page: Page, act: () => Promise<unknown>) => Promise<T>): Promise<T> {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open(`/logs?tail=1&q=${prefix}`)
  await page.waitForSelector('text=Waiting for records')
  const count = PER_SECOND * TAIL_SECONDS
  const found = await measured(page, async () => {
    const share = { count: count / NOISY.length, perSecond: PER_SECOND / NOISY.length }
    for (const name of NOISY) {
      await admin.ok('POST', `/api/servers/admin~${name}/tools/noise/call`, { arguments: { prefix, ...share } })
    }
    await holds(page, records(`>= ${Math.min(count, 5_000)}`), 120_000)
  })
  await tab.close()
  return found
}

/** Tasks of more than 50 ms by the clock, as the browser reports them. */
async function longTasks(page: Page, act: () => Promise<unknown>): Promise<readonly number[]> {
  await page.evaluate(() => {
    const durations: number[] = []
    Object.assign(globalThis, { longTasks: durations })
    new PerformanceObserver(list => durations.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask',
    })
  })
  await act()
  return page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks)
}
