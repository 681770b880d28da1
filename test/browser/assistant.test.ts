/** The page of assistants in a real browser: an inbound endpoint, its device, its tools, and a test of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const outbound = {
    name: 'kitchen',
    direction: 'outbound',
    group: 'home',
    url: 'wss://192.0.2.1/mcp/?token=canary-4471',
  }
  hub = await startHub({
    env: { ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() },
    settings: {
      mcpServers: { echo: stdioFixture('echo') },
      groups: [{ name: 'home', servers: ['echo'] }],
      assistant: { endpoints: [outbound, { ...outbound, name: 'lost', group: 'nowhere' }] },
    },
  })
  admin = await hub.setup()
  await online(admin, ['echo'])
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

test('a device dials in with the token of an endpoint that was made here, and the page says so', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/assistant')
  await page.click('text=Make an inbound endpoint')
  await page.fill('#an', 'box')
  await page.selectOption('#ag', { label: 'Group home' })
  await page.check('input[name=smart]')
  await page.click('button[type=submit]:has-text("Make endpoint")')
  const token = (await page.textContent('.keytext')) ?? ''
  expect(token.length).toBeGreaterThanOrEqual(32)
  const card = '.ep:has(h2:has-text("box"))'
  await page.waitForSelector(`${card} >> text=Waiting`)
  const answers: string[] = []
  const address = `${hub.url.replace(/^http/, 'ws')}/api/assistant/ws`
  const device = new WebSocket(address, { headers: { authorization: `Bearer ${token}` } } as unknown as string[])
  device.addEventListener('message', ({ data }) => answers.push(String(data)))
  await new Promise((resolve, reject) => {
    device.addEventListener('open', resolve)
    device.addEventListener('error', reject)
  })
  device.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))
  await page.waitForSelector(`${card} >> text=Connected`)
  await page.waitForSelector(`${card} >> text=by search`)
  await page.click('text=I have stored it')
  await page.waitForSelector('.keytext', { state: 'detached' })
  expect(await page.content()).not.toContain(token)

  await page.click(`${card} h2 a`)
  await page.waitForSelector('.eptools >> text=search_tools')
  await page.waitForSelector('.msgs >> text=tools/list')
  expect(answers.join()).toContain('search_tools')
  await page.click('button[aria-label="Actions for box"]')
  await page.click('wa-dropdown-item:has-text("Test")')
  await page.waitForSelector('text=Every step succeeded')
  await page.click('wa-dialog[open] button:has-text("Close") >> nth=-1')
  device.close()
  await page.waitForSelector(`${card} >> text=Waiting`)
  await tab.close()
}, 120_000)

test('an endpoint with the rights of an ordinary user alone is edited whole here, which gives it those of the administrator', async () => {
  const ann = await hub.user('ann')
  const body = { name: 'annex', direction: 'outbound', group: '$smart', url: 'wss://192.0.2.1/mcp/?token=canary-5582' }
  await ann.ok('POST', '/api/assistant/endpoints', { ...body, limits: { tools: 9, resultCharacters: 500 } })
  await admin.ok('PATCH', '/api/admin/users/ann', { role: 'admin' })
  const tab = await openTab(browser, hub, ann)
  const { page } = tab
  await tab.open('/assistant/ann~annex')
  await page.waitForSelector('.callout:has-text("rights of an ordinary user")')
  expect(await page.inputValue('#lim-tools')).toBe('9')
  await page.fill('#lim-tools', '12')
  await page.fill('#lim-characters', '1500')
  await page.fill('#ep-name', 'attic')
  await page.selectOption('#ep-group', { label: 'All that I may use, by search' })
  await page.click('button:has-text("Save endpoint")')
  await page.waitForSelector('.ep h2 >> text=attic')
  await page.waitForSelector('.callout:has-text("rights of an ordinary user")', { state: 'detached' })
  expect(new URL(page.url()).pathname).toBe('/assistant/ann~attic')
  const saved = await ann.ok('GET', '/api/assistant/endpoints/ann~attic')
  expect(saved).toMatchObject({ group: '$smart', enabled: true, limits: { tools: 12, resultCharacters: 1500 } })
  expect(saved).not.toHaveProperty('limited')
  expect(await page.content()).not.toContain('canary-5582')

  await page.fill('#ep-name', 'no/name')
  await page.click('button:has-text("Save endpoint")')
  await page.waitForSelector('.field:has(#ep-name) .hint.bad')
  await tab.close()
}, 120_000)

test('says what stands in the environment and in the settings file, and where a test fails', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/assistant')
  await page.waitForSelector('text=From the environment')
  await page.waitForSelector('text=ASSISTANT_API_KEY')
  await page.waitForSelector('.callout:has-text("endpoints that cannot be used"):has-text("/assistant/endpoints/1")')
  const card = '.ep:has(h2:has-text("kitchen"))'
  await page.waitForSelector(`${card} >> text=Settings file`)
  expect(await page.isDisabled(`${card} input[role=switch]`)).toBe(true)
  await page.click('button[aria-label="Actions for kitchen"]')
  expect(await page.locator('wa-dropdown-item:visible').allTextContents()).toEqual(['Reconnect', 'Test'])
  await page.click('wa-dropdown-item:visible:has-text("Test")')
  await page.waitForSelector('text=A step failed')
  await page.waitForSelector('.tsteps >> text=Failed')
  expect(await page.content()).not.toContain('canary-4471')
  await tab.close()
}, 120_000)

test.each(VIEWS)(
  'axe finds nothing and nothing scrolls sideways: %s',
  async (_, view) => {
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    await tab.open('/assistant')
    await tab.page.waitForSelector('.eptools, .ep')
    expect((await axe(tab)).filter(one => !one.startsWith('region: '))).toEqual([])
    await tab.fitsSideways()
    await tab.close()
  },
  120_000,
)
