/** Groups and the dashboard: its figures, making a group, what a client will see, and one that connects with what was copied. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Browser, Page } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Hub, LOOPBACK, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { online } from '../support/servers.ts'
import { openBrowser, openTab, PHONE, type View } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const settings = { mcpServers: { first: stdioFixture('echo'), second: stdioFixture('echo') } }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings }))
  await admin.ok('POST', '/api/servers', { name: 'nowhere', command: 'no-such-program-of-a-test' })
  await admin.ok('POST', '/api/servers', { name: 'halted', ...stdioFixture('echo'), enabled: false })
  await admin.ok('POST', '/api/groups', { name: 'daily', members: ['first', 'second'] })
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('tiles equal /health, what is broken needs attention, and Calls is the number of calls made', async () => {
  const client = await admin.mcp('/mcp/daily')
  const { tools } = await client.listTools()
  const echo = tools.find(({ name }) => name.endsWith('echo'))?.name ?? ''
  const CALLS = 7
  for (let n = 0; n < CALLS; n += 1) await client.callTool({ name: echo, arguments: { text: 'n' } })
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/')
  await page.waitForSelector('.attl li:has-text("nowhere")')
  const { servers } = await admin.ok('GET', '/health')
  const tile = async (word: string) =>
    Number.parseInt((await page.locator(`.tiles .tile:has(.k:has-text("${word}")) .v`).textContent()) ?? '', 10)
  expect(await tile('Servers')).toBe(servers.total)
  expect(await tile('Online')).toBe(servers.online)
  expect(await tile('Connecting')).toBe(servers.connecting)
  expect(await tile('Offline')).toBe(servers.offline)
  expect(await page.locator('.attl li:has-text("halted")').count()).toBe(0)
  const figure = page.locator('pb-chart:has(h2:has-text("Calls")) .stat b')
  await page.waitForFunction(
    calls =>
      [...document.querySelectorAll('pb-chart')].some(chart => chart.querySelector('.stat b')?.textContent === calls),
    String(CALLS),
    { timeout: 120_000 },
  )
  expect(await figure.first().textContent()).toBe(String(CALLS))
  await page.click('.tiles .tile:has-text("Offline")')
  await page.waitForSelector('tr[data-key="admin~nowhere"]')
  await tab.close()
}, 120_000)

test('a newcomer pastes a configuration, which Add server reads', async () => {
  const newcomer = await hub.user('newcomer')
  const tab = await openTab(browser, hub, newcomer)
  const { page } = tab
  await tab.open('/')
  await page.waitForSelector('h1:has-text("Welcome, newcomer")')
  const text = JSON.stringify({ mcpServers: { handed: { url: 'http://127.0.0.1:9/mcp' } } })
  await page.fill('#paste', text)
  await page.click('.btn.pri:has-text("Read it")')
  await page.waitForURL('**/servers/new')
  await page.waitForSelector('text=handed')
  await tab.close()
}, 120_000)

/** Makes a group of both servers in the console; answers the names that its preview shows. */
async function makeGroup(page: Page, name: string): Promise<readonly string[]> {
  await page.fill('#g-name', name)
  for (const server of ['first', 'second']) {
    await page.click('pb-group-members wa-dropdown > button')
    await page.click(`pb-group-members wa-dropdown-item:has-text("admin~${server}")`)
    await page.waitForSelector(`[role=treeitem][data-key*="admin~${server}"]`)
  }
  await page.waitForSelector('.pv .clash li >> nth=1')
  const names = await page.locator('.pv .names li').evaluateAll(lines => lines.map(line => line.textContent ?? ''))
  await page.click('.btn.pri:has-text("Make group")')
  await page.waitForURL(`**/groups/admin~${name}`)
  return names.map(line => line.replace(/^\+ |, new$/g, '').trim())
}

/** On a phone without-mouse.test.ts makes a group as well. */
const VIEWS = extent<readonly (readonly [string, View])[]>(
  [['wide', {}]],
  [
    ['wide', {}],
    ['phone', PHONE],
  ],
)

test.each(VIEWS)(
  'the preview has the names that a client lists, and “connected” appears by itself: %s',
  async (id, view) => {
    const tab = await openTab(browser, hub, admin, view)
    const { page } = tab
    const name = `clash-${id}`
    await tab.open('/groups/new')
    const names = await makeGroup(page, name)
    await page.click('.btn:has-text("Connect a client")')
    await page.waitForSelector('pb-connect [role=radio]')
    const { clients } = await admin.ok('GET', `/api/groups/admin~${name}/client-config?client=curl`)
    expect(await page.locator('pb-connect [role=radio]').count()).toBe(9)
    await page.click('pb-connect button:has-text("more clients"), pb-connect button:has-text("另外")')
    // The same clients as REST and the command offer, and the address alone.
    expect(await page.locator('pb-connect [role=radio]').allTextContents()).toEqual([
      ...clients.map(({ label }: { label: string }) => label),
      expect.stringMatching(/Plain URL|纯 URL/),
    ])
    await page.click('pb-connect [role=radio]:has-text("VS Code")')
    await page.click('pb-connect >> text=Make key')
    const text = page.locator('pb-connect .connect-text')
    await page.waitForFunction(() => {
      const shown = document.querySelector('pb-connect .connect-text')?.textContent ?? ''
      return shown.includes('"servers"') && !shown.includes('<ACCESS_KEY>')
    })
    await page.waitForSelector('pb-connect >> text=Waiting for the first connection')
    await tab.fitsSideways()
    const { servers } = JSON.parse((await text.textContent()) ?? '') as {
      readonly servers: Readonly<Record<string, { readonly url: string; readonly headers: Record<string, string> }>>
    }
    const entry = Object.values(servers)[0]
    const client = new McpClient({ name: 'Journey', version: '1.0.0' })
    const requestInit = { headers: entry?.headers ?? {} }
    await client.connect(new StreamableHTTPClientTransport(new URL(entry?.url ?? ''), { requestInit }))
    const { tools } = await client.listTools()
    expect(tools.map(tool => tool.name).sort()).toEqual([...names].sort())
    expect(names.length).toBeGreaterThan(1)
    await page.waitForSelector('pb-connect >> text=Connected, Journey')
    await client.close()
    await tab.close()
  },
  120_000,
)

test('names of the busiest tools are whole beside their numbers, at 1280 and 1440', async () => {
  const server = 'a-server-with-a-rather-long-name'
  await admin.ok('POST', '/api/servers', { name: server, ...stdioFixture('asking') })
  await online(admin, [server])
  await admin.ok('POST', `/api/servers/${server}/tools/capabilities/call`, { arguments: {} })
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/monitoring')
  const cell = page.locator('td.wrap-cell', { hasText: 'capabilities' })
  await cell.waitFor()
  for (const width of [1280, 1440]) {
    await page.setViewportSize({ width, height: 900 })
    await tab.fitsSideways()
    const lines = await cell.evaluate(one => {
      const range = document.createRange()
      range.selectNodeContents(one)
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size
    })
    expect([width, lines]).toEqual([width, 1])
    const card = page.locator('.tw', { has: cell })
    expect(await card.evaluate(one => one.scrollWidth - one.clientWidth)).toBe(0)
  }
  await tab.close()
}, 120_000)
