/** The page of the log in a real browser: histogram, query, live tail under load, records, export. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { openBrowser, openTab } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ settings: { mcpServers: { noisy: stdioFixture('noisy'), echo: stdioFixture('echo') } } })
  admin = await hub.setup()
  await online(admin, ['admin~noisy', 'admin~echo'])
  await noise('before', 30, 200)
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

async function noise(prefix: string, count: number, perSecond: number): Promise<void> {
  const called = await admin.ok('POST', '/api/servers/admin~noisy/tools/noise/call', {
    arguments: { prefix, count, perSecond },
  })
  expect(JSON.stringify(called)).toContain('lines follow')
}

/** Messages of all rows of the list, also of those that are not drawn. */
function messages(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const list = document.querySelector('pb-log-rows') as unknown as {
      rows: readonly { record: { message: string } }[]
    } | null
    return list?.rows.map(({ record }) => record.message) ?? []
  })
}

test('a range of the histogram and a query are in the address, which shows the same again; a mistake has its position', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/logs')
  await until(async () => (await messages(page)).includes('before 29'), { what: 'the stored lines', timeoutMs: 60_000 })
  // The bars are read apart from the list.
  await page.waitForSelector('svg.hist rect', { state: 'attached' })
  await page.focus('svg.hist')
  await page.keyboard.press('End')
  for (let step = 0; step < 5; step += 1) await page.keyboard.press('Shift+ArrowLeft')
  await page.keyboard.press('Enter')
  await page.waitForSelector('text=Whole range')
  expect(new URL(page.url()).searchParams.get('from')).toMatch(/^\d{4}-.*Z$/)

  await page.fill('[data-search]', 'level:INFO server=noisy')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#qe')
  expect(await page.textContent('#qe')).toBe(
    'Position 18: “=” is not known here. Write server:noisy. The list still shows level:INFO.',
  )
  await page.fill('[data-search]', 'server:noisy "before 2"')
  await page.keyboard.press('Enter')
  await until(async () => (await messages(page)).length === 11, { what: 'the found lines' })
  // The bars and the counts of the levels are those of the query.
  const counted = () =>
    page.evaluate(() =>
      [...document.querySelectorAll('.legend.lg b')].reduce((sum, one) => sum + (Number(one.textContent) || 0), 0),
    )
  await until(async () => (await counted()) === 11, { what: 'the counts of the query' })
  await page.click('tr[data-key] >> nth=0')
  await page.waitForSelector('pb-log-record h2')
  const found = await messages(page)
  expect(found[0]).toBe('before 29')
  await page.reload()
  await page.waitForSelector('pb-log-record h2')
  expect(await messages(page)).toEqual(found)
  expect(await page.inputValue('[data-search]')).toBe('server:noisy "before 2"')

  await page.fill('[data-search]', 'server:noisy nothing-like-this')
  await page.keyboard.press('Enter')
  await page.waitForSelector('text=No records match')
  await page.waitForSelector('text=Take it away')
  await tab.close()
}, 120_000)

test('live tail loses and doubles no row at 200 records a second, pauses by scrolling, and continues', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/logs?q=server:noisy%20load')
  await page.waitForSelector('text=No records match')
  await page.click('text=Live tail')
  await page.waitForSelector('text=Waiting for records')
  await page.evaluate(() => {
    const seen: number[] = []
    Object.assign(globalThis, { longTasks: seen })
    new PerformanceObserver(list => seen.push(...list.getEntries().map(({ duration }) => duration))).observe({
      type: 'longtask',
    })
  })
  await noise('load', 900, 200)
  await until(async () => (await messages(page)).length >= 900, { what: '900 rows', timeoutMs: 60_000 })
  const expected = Array.from({ length: 900 }, (_, at) => `load ${899 - at}`)
  expect((await messages(page)).toSorted()).toEqual(expected.toSorted())
  expect(await page.locator('tr[data-key]').count()).toBeLessThanOrEqual(100)
  const tasks = await page.evaluate(() => (globalThis as unknown as { longTasks: number[] }).longTasks)
  // One long task may be a pause of the machine; a page that does too much has one for each batch of records.
  expect(tasks.filter(ms => ms >= atMost(50)).length).toBeLessThanOrEqual(1)

  await page.mouse.wheel(0, 900)
  await page.waitForSelector('text=Paused because you scrolled')
  await noise('loaded', 12, 200)
  await page.waitForSelector('text=12 new')
  expect(await messages(page)).toHaveLength(900)
  await page.click('.head button.pri')
  await until(async () => (await messages(page)).length === 912, { what: 'the held rows' })
  expect((await messages(page))[0]).toBe('loaded 11')
  await tab.close()
}, 120_000)

test('a record leads to its request and its neighbours; what was found is exported', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/logs?q=message:tools/call')
  await page.click('tr[data-key] >> nth=0')
  await page.click('pb-log-record a:has-text("Same request")')
  await page.waitForFunction(() => location.search.includes('requestId='))
  await until(async () => (await messages(page)).includes('tools/call'), { what: 'the records of the request' })
  await page.click('tr[data-key] >> nth=0')
  await page.click('text=20 lines around')
  await page.waitForSelector('text=Back to the search')
  await until(async () => (await messages(page)).length > 1, { what: 'the neighbours' })

  await tab.open('/logs?q=before')
  await until(async () => (await messages(page)).length === 30, { what: 'the lines' })
  await page.click('text=Export')
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('wa-dropdown-item:has-text("CSV")')])
  const lines = (await readFile(await file.path(), 'utf8')).trimEnd().split('\r\n')
  expect(lines).toHaveLength(31)
  expect(lines[0]).toStartWith('timestamp,level,message,server,tool,duration,status,requestId,userId')
  await page.waitForSelector('text=Exported 30 records')
  await tab.close()
}, 120_000)

test('a tag is chosen among those of servers and groups; the records, the live tail and the link are those of the tag', async () => {
  await admin.ok('PATCH', '/api/servers/noisy', { tags: ['loud'] })
  await admin.ok('PATCH', '/api/servers/echo', { tags: ['calm'] })
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/logs')
  await page.click('button:has-text("Filters")')
  await until(async () => (await page.locator('#log-tags option').count()) === 2, { what: 'the proposed tags' })
  await page.fill('#log-tag', 'Loud')
  await page.press('#log-tag', 'Enter')
  await page.waitForFunction(() => location.search.includes('tag=Loud'))
  await page.click('text=Show records')
  await until(async () => (await messages(page)).includes('before 29'), { what: 'the lines of the server' })
  await page.waitForSelector('.chip.on:has-text("Loud")')
  await page.click('text=Live tail')
  await page.waitForFunction(() => location.search.includes('tail=1'))
  await admin.ok('POST', '/api/servers/admin~echo/tools/echo/call', { arguments: { text: 'x' } })
  await noise('tagged', 3, 200)
  await until(async () => (await messages(page)).includes('tagged 2'), { what: 'the live lines' })
  const servers = await page.evaluate(() => {
    const list = document.querySelector('pb-log-rows') as unknown as {
      rows: readonly { record: { server?: string } }[]
    }
    return [...new Set(list.rows.map(({ record }) => record.server))]
  })
  expect(servers).toEqual(['noisy'])
  await tab.close()
}, 120_000)

test('an open console loses the page with its plugin, and every link to it, and has it again', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const links = page.locator('a[href*="/logs"]')
  await admin.ok('POST', '/api/groups', { name: 'work', members: [{ server: 'echo' }] })
  await tab.open('/servers/admin~echo?tab=logs')
  await page.waitForSelector('pb-server-logs a[href*="/logs"]')
  await admin.ok('PATCH', '/api/admin/plugins/log-database', { enabled: false })
  await until(async () => (await links.count()) === 0, { what: 'the links to be gone' })
  for (const [path, ready] of [
    ['/', 'pb-patch-bay'],
    ['/servers/admin~echo', 'pb-page-server h1'],
    ['/groups/work', 'pb-page-group .copyline'],
    ['/admin/plugins?plugin=log-database', 'dl.kv'],
  ] as const) {
    await tab.go(path, ready)
    expect([path, await links.count()]).toEqual([path, 0])
  }
  await tab.go('/logs', '.empty')
  expect(await page.textContent('main')).toContain('It belongs to the plugin log-database')
  await admin.ok('PATCH', '/api/admin/plugins/log-database', { enabled: true })
  await page.waitForSelector('tr[data-key]')
  await page.waitForSelector('.rail a[href$="/logs"]')
  await tab.close()
}, 120_000)
