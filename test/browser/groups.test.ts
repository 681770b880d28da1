/** Groups in a real browser: making one, what a client will see, and a client that connects with what was copied. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Browser, Page } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK, stdioFixture } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { axe, openBrowser, openTab, PHONE, sharedOut, VIEWS } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const settings = { mcpServers: { first: stdioFixture('echo'), second: stdioFixture('echo') } }
  ;({ hub, admin } = await startOnline({ env: LOOPBACK, settings }))
  await admin.ok('POST', '/api/servers', { name: 'nowhere', command: `no-such-program-${'x'.repeat(120)}` })
  await admin.ok('POST', '/api/groups', { name: 'kept', members: ['first', 'nowhere'] })
  // Warns with a text of many names.
  const tools = ['a', 'b', 'c'].map(letter => letter.repeat(60))
  await admin.ok('POST', '/api/groups', { name: 'wanting', members: [{ server: 'first', tools }] })
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
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

test.each([
  ['wide', {}],
  ['phone', PHONE],
] as const)(
  'the preview has the names that a client lists, and “connected” appears by itself: %s',
  async (id, view) => {
    const tab = await openTab(browser, hub, admin, view)
    const { page } = tab
    const name = `clash-${id}`
    await tab.open('/groups/new')
    const names = await makeGroup(page, name)
    await page.click('.btn:has-text("Connect a client")')
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

const PAGES = [
  ['/groups', 'tr[data-key]'],
  ['/groups?view=bay', 'pb-patch-bay .baycard .ch'],
  ['/groups?view=bay&bay=strips', 'pb-patch-bay .strip'],
  ['/groups/admin~kept', '.pv .names'],
  ['/groups/admin~kept?connect=cursor', 'pb-connect .connect-text'],
] as const

test.each(VIEWS)(
  'groups and the editor have no axe violation and fit sideways: %s',
  async (_, view) => {
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    for (const [path, ready] of sharedOut(PAGES, view)) {
      await tab.open(path)
      await tab.page.waitForSelector(ready)
      expect([path, await axe(tab)]).toEqual([path, []])
      await tab.fitsSideways('asPhone')
    }
    await tab.close()
  },
  300_000,
)
