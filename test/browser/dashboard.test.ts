/** The dashboard in a real browser: its figures are those of the hub, and a newcomer is led to the first server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

const remote = startGoodAndBad()
let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  for (const name of ['a', 'b']) await admin.ok('POST', '/api/servers', { name, url: remote.url })
  await admin.ok('POST', '/api/servers', { name: 'halted', url: remote.url, enabled: false })
  await admin.ok('POST', '/api/servers', { name: 'broken', command: `no-such-program-${'x'.repeat(150)}` })
  await admin.ok('POST', '/api/groups', { name: 'daily', members: ['a', 'b'] })
  await online(admin, ['a', 'b'], 60_000)
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await remote.stop()
}, 120_000)

test('tiles equal /health, what is broken needs attention, and Requests is the number of calls made', async () => {
  const client = await admin.mcp('/mcp/daily')
  const { tools } = await client.listTools()
  const good = tools.find(({ name }) => name.includes('good'))?.name ?? ''
  const CALLS = 7
  for (let n = 0; n < CALLS; n += 1) await client.callTool({ name: good })
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/')
  await page.waitForSelector('.attl li:has-text("broken")')
  const { servers } = await admin.ok('GET', '/health')
  const tile = async (word: string) =>
    Number.parseInt((await page.locator(`.tiles .tile:has(.k:has-text("${word}")) .v`).textContent()) ?? '', 10)
  expect(await tile('Servers')).toBe(servers.total)
  expect(await tile('Online')).toBe(servers.online)
  expect(await tile('Connecting')).toBe(servers.connecting)
  expect(await tile('Offline')).toBe(servers.offline)
  expect(await page.locator('.attl li:has-text("halted")').count()).toBe(0)
  const figure = page.locator('pb-chart:has(h2:has-text("Requests")) .stat b')
  await page.waitForFunction(
    calls =>
      [...document.querySelectorAll('pb-chart')].some(chart => chart.querySelector('.stat b')?.textContent === calls),
    String(CALLS),
    { timeout: 120_000 },
  )
  expect(await figure.first().textContent()).toBe(String(CALLS))
  await page.click('.tiles .tile:has-text("Offline")')
  await page.waitForSelector('tr[data-key="admin~broken"]')
  await tab.close()
}, 120_000)

test('a newcomer pastes a configuration, which Add server reads', async () => {
  const newcomer = await hub.user('newcomer')
  const tab = await openTab(browser, hub, newcomer)
  const { page } = tab
  await tab.open('/')
  await page.waitForSelector('h1:has-text("Welcome, newcomer")')
  const text = JSON.stringify({ mcpServers: { handed: { url: remote.url } } })
  await page.fill('#paste', text)
  await page.click('.btn.pri:has-text("Read it")')
  await page.waitForURL('**/servers/new')
  await page.waitForSelector('text=handed')
  await tab.close()
}, 120_000)

test.each(VIEWS)(
  'dashboard and monitoring have no axe violation and fit sideways: %s',
  async (_, view) => {
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    for (const [path, ready] of [
      ['/', 'pb-patch-bay .baycard table'],
      ['/?tab=new', '#board-name'],
      ['/monitoring', 'pb-chart h2'],
    ] as const) {
      await tab.open(path)
      await tab.page.waitForSelector(ready, { state: 'attached' })
      expect([path, await axe(tab)]).toEqual([path, []])
      await tab.fitsSideways()
    }
    await tab.close()
  },
  300_000,
)

test('names of the busiest tools are whole beside their numbers, at 1280 and 1440', async () => {
  const server = 'a-server-with-a-rather-long-name'
  await admin.ok('POST', '/api/servers', { name: server, ...stdioFixture('asking') })
  await online(admin, [server])
  await admin.ok('POST', `/api/servers/${server}/tools/capabilities/call`, { arguments: {} })
  for (const width of [1280, 1440]) {
    const tab = await openTab(browser, hub, admin, { width })
    const { page } = tab
    await tab.open('/monitoring')
    const cell = page.locator('td.wrap-cell', { hasText: 'capabilities' })
    await cell.waitFor()
    const lines = await cell.evaluate(one => {
      const range = document.createRange()
      range.selectNodeContents(one)
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
    })
    expect([width, lines]).toEqual([width, 1])
    const card = page.locator('.tw', { has: cell })
    expect(await card.evaluate(one => one.scrollWidth - one.clientWidth)).toBe(0)
    await tab.fitsSideways()
    await tab.close()
  }
}, 60_000)
