import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Browser } from 'playwright-core'
import { freePort } from '../support/free-port.ts'
import { type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { openBrowser, openTab } from './support/console.ts'

let browser: Browser

beforeAll(async () => {
  browser = await openBrowser()
}, 120_000)

afterAll(async () => {
  await browser?.close()
}, 120_000)

test('a second user sees nothing of others but what is public, read-only; a restart of the hub under an open page', async () => {
  const port = await freePort()
  let hub: Hub = await startHub({ env: { PORT: String(port), ...LOOPBACK } })
  try {
    const admin = await hub.setup()
    await admin.ok('POST', '/api/servers', { name: 'notes', ...stdioFixture('echo') })
    await admin.ok('POST', '/api/servers', { name: 'open', ...stdioFixture('echo'), visibility: 'public' })
    const user = await hub.user('li.wei')
    await user.ok('POST', '/api/servers', { name: 'notes', url: 'http://127.0.0.1:9/mcp' })
    await online(admin, ['open'])
    const tab = await openTab(browser, hub, user)
    const { page } = tab
    await tab.open('/servers')
    await page.waitForSelector('td:has-text("open")')
    // One "notes", which is the user's own: the administrator's of the same name is not there.
    expect(await page.locator('tbody tr[data-key]').count()).toBe(2)
    await tab.open('/servers/admin~open')
    await page.waitForSelector('text=admin')
    expect(await page.locator('button:has-text("Stop server")').count()).toBe(0)
    expect(await page.locator('main').textContent()).not.toContain(process.execPath)
    await page.goto(`${hub.url}/servers/admin~notes`)
    await page.waitForSelector('[role=alert]')
    const foreign = await page.locator('main').textContent()
    await page.goto(`${hub.url}/servers/admin~nothing`)
    await page.waitForSelector('[role=alert]')
    // What is somebody else's looks as what does not exist.
    const scrub = (text: string | null): string =>
      (text ?? '').replace(/notes|nothing/g, 'X').replace(/[a-z0-9]{8,}-[a-z0-9]+/g, 'id')
    expect(scrub(foreign)).toBe(scrub(await page.locator('main').textContent()))
    await tab.open('/servers/new')
    await page.fill('#pasted', 'http://127.0.0.1:9/draft')
    await hub.stop({ keep: true })
    await page.waitForSelector('.banner')
    hub = await startHub({ folder: hub.folder, env: { PORT: String(port), ...LOOPBACK } })
    await page.waitForSelector('.banner', { state: 'detached', timeout: 120_000 })
    await page.waitForSelector('.live:has-text("Live")')
    expect(await page.inputValue('#pasted')).toBe('http://127.0.0.1:9/draft')
    await tab.close()
  } finally {
    await hub.stop()
  }
}, 300_000)

test('a newcomer: from the first start to a tool called by a real client, in at most 12 clicks and one paste', async () => {
  const hub = await startHub()
  try {
    const token = hub.setupToken ?? ''
    const tab = await openTab(browser, hub)
    const { page } = tab
    let clicks = 0
    const click = async (selector: string): Promise<void> => {
      clicks += 1
      await page.click(selector)
    }
    await tab.open('/')
    await page.fill('#token', token)
    await page.keyboard.press('Enter')
    await page.fill('#name', 'ada')
    await page.fill('#password', 'correct horse battery staple 7')
    await page.keyboard.press('Enter')
    await click('text=Skip')
    await click('text=Skip')
    await click('text=To the dashboard')
    const { command, args } = stdioFixture('echo') as { command: string; args: string[] }
    await page.fill('main textarea', JSON.stringify({ mcpServers: { mine: { command, args } } }))
    await click('main button.pri')
    await page.waitForSelector('pb-entry')
    await click('section.entry .foot button.pri')
    await page.waitForURL(/ada~mine/)
    await online(await hub.signIn('ada'), ['mine'])
    // As the list of servers leads there.
    await page.goto(`${hub.url}/groups/new?servers=mine`)
    clicks += 1
    await page.fill('#g-name', 'work')
    await page.waitForSelector('[role=tree] >> text=mine')
    await click('button:has-text("Make group")')
    await page.waitForURL(/ada~work/)
    await click('button:has-text("Connect a client")')
    await click('pb-connect >> text=Make key')
    await page.waitForFunction(() => document.querySelector('pb-connect .connect-text')?.textContent?.includes('pb_'))
    const secret =
      /pb_[A-Za-z0-9_-]+/.exec((await page.locator('pb-connect .connect-text').textContent()) ?? '')?.[0] ?? ''
    expect(secret).not.toBe('')
    const client = new McpClient({ name: 'newcomer', version: '1' })
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/work`), {
        requestInit: { headers: { authorization: `Bearer ${secret}` } },
      }),
    )
    const { tools } = await client.listTools()
    const result = await client.callTool({
      name: tools.find(({ name }) => name.endsWith('echo'))?.name ?? '',
      arguments: { text: 'hello', message: 'hello' },
    })
    expect(JSON.stringify(result)).toContain('hello')
    await page.waitForSelector('text=/Connected, newcomer/')
    await client.close()
    console.log(`${clicks} clicks`)
    expect(clicks).toBeLessThanOrEqual(12)
    await tab.close()
  } finally {
    await hub.stop()
  }
}, 300_000)
