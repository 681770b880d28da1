/** Alerts, keys of clients, and endpoints of assistants, each with its other side: a receiver, a client, a device. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { beyondCore } from '../support/extent.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { startReceiver } from '../support/receiver.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client
const receiver = startReceiver()
const remote = startGoodAndBad()
/** The way to the upstream, which can be closed and opened again at the same address. */
let way = openWay(0)

function openWay(port: number) {
  return Bun.serve({
    ...{ hostname: '127.0.0.1', port },
    fetch: async request =>
      fetch(remote.url, { method: request.method, headers: request.headers, body: await request.blob() }),
  })
}

beforeAll(async () => {
  browser = await openBrowser()
  const outbound = {
    name: 'kitchen',
    direction: 'outbound',
    group: 'home',
    url: 'wss://127.0.0.9/mcp/?token=canary-4471',
  }
  hub = await startHub({
    env: { ...LOOPBACK, ASSISTANT_ENABLED: 'true', ASSISTANT_API_KEY: crypto.randomUUID() },
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
  await hub?.stop()
  receiver.stop()
  await way.stop(true)
  await remote.stop()
}, 120_000)

/** The messages that have come, in turn. */
const kinds = (): readonly string[] => receiver.received.map(({ json }) => json.kind)

test('a suggested rule, and a channel that keeps its form after a mistake, hides its address and sends a test', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/alerts')
  await page.click('button[aria-label="Use rule Server offline"]')
  await page.click('nav.tabs >> text=Channels')
  await page.click('text=Add channel')
  await page.fill('#ch-name', 'local')
  await page.fill('#cfg-url', 'not an address')
  await page.click('text=Save channel')
  await page.waitForSelector('.callout.bad')
  expect(await page.inputValue('#ch-name')).toBe('local')
  await page.fill('#cfg-url', `${receiver.url}/hook?token=canary-8831`)
  await page.click('text=Save channel')
  await page.waitForURL('**/alerts/channels/admin~local')
  await page.click('text=Send test')
  await page.waitForSelector('.tag:has-text("TEST")')
  await until(() => receiver.received.length === 1, { what: 'the test message' })
  expect(receiver.received[0]?.json).toMatchObject({ kind: 'test' })
  expect(await page.content()).not.toContain('canary-8831')
  await tab.close()
}, 120_000)

test('a server that goes away is pending and fires, with one message', async () => {
  const server = { name: 'remote', url: `http://127.0.0.1:${way.port}/mcp` }
  await admin.ok('POST', '/api/servers', {
    ...server,
    healthCheck: { enabled: true, interval: 1_000, timeout: 1_000 },
  })
  await online(admin, ['remote'])
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/alerts?tab=rules')
  await page.click('a:has-text("Server offline")')
  await page.fill('.cond input[aria-label="Duration"]', '10s')
  await page.press('.cond input[aria-label="Duration"]', 'Tab')
  await page.click('text=Save rule')
  await page.waitForSelector('text=Rule Server offline saved')
  expect(await admin.ok('GET', '/api/monitoring/rules/Server offline')).toMatchObject({
    ...{ duration: '10s', keepFiringFor: '30s' },
  })

  const { port = 0 } = way
  await way.stop(true)
  await tab.open('/alerts')
  await page.waitForSelector('.af >> text=Pending', { timeout: 120_000 })
  await page.waitForSelector('.af.bad h2:has-text("Server offline")', { timeout: 120_000 })
  await page.waitForSelector('.af.bad >> text=admin~remote')
  await until(() => kinds().length === 2, { what: 'the message of the alert', timeoutMs: 60_000, intervalMs: 250 })
  expect(kinds()).toEqual(['test', 'fired'])
  expect(receiver.received[1]?.json.instances).toMatchObject([{ subject: 'admin~remote', state: 'firing' }])
  await tab.close()
  way = openWay(port)
}, 600_000)

test('a rule that somebody else saved meanwhile shows the difference, and keeps what was typed', async () => {
  const made = { name: 'shared', condition: 'error_rate[5m] > 5%', duration: '5m', severity: 'warning' }
  await admin.ok('POST', '/api/monitoring/rules', made)
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/alerts/rules/admin~shared')
  await page.fill('#rule-repeat', '2h')
  await admin.ok('PATCH', '/api/monitoring/rules/shared', { severity: 'critical' })
  await page.click('text=Save rule')
  await page.waitForSelector('text=/(?:You have|Somebody else has) saved this meanwhile/')
  expect(await page.locator('.callout tbody tr').allTextContents()).toEqual([
    'severitycriticalwarning',
    'repeatInterval4h2h',
  ])
  expect(await page.inputValue('#rule-repeat')).toBe('2h')
  await page.click('text=Save mine')
  await page.waitForSelector('text=Rule shared saved')
  expect(await admin.ok('GET', '/api/monitoring/rules/shared')).toMatchObject({
    ...{ severity: 'warning', repeatInterval: '2h', revision: 3 },
  })
  await admin.ok('DELETE', '/api/monitoring/rules/shared')
  await tab.close()
}, 120_000)

test('a key is shown once, opens the hub for a client, and opens nothing once it is revoked', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/keys')
  await page.click('text=Make key')
  await page.fill('#key-label', 'laptop')
  await page.click('button[form=key-form]')
  const secret = (await page.textContent('.keytext')) ?? ''
  expect(secret).toStartWith('pb_')
  const client = await admin.mcp('/mcp/echo', { credential: secret })
  expect(JSON.stringify(await client.callTool({ name: 'echo', arguments: { text: 'by key' } }))).toContain('by key')

  await page.click('text=I have stored it')
  await page.waitForSelector('.keytext', { state: 'detached' })
  await page.reload()
  await page.waitForSelector('td:has-text("laptop")')
  await page.waitForSelector(`text=pb_…${secret.slice(-4)}`)
  expect(await page.content()).not.toContain(secret)

  await page.click('button[aria-label="Revoke laptop"]')
  const confirm = page.locator('wa-dialog[open] button:has-text("Revoke key")')
  expect(await confirm.isDisabled()).toBe(true)
  await page.fill('wa-dialog[open] input', 'laptop')
  await confirm.click()
  await page.waitForSelector('td:has-text("laptop")', { state: 'detached' })
  await until(
    () =>
      client
        .callTool({ name: 'echo', arguments: { text: 'x' } })
        .then(() => false)
        .catch(() => true),
    { what: 'the end of the session' },
  )
  await expect(admin.mcp('/mcp/echo', { credential: secret })).rejects.toThrow()
  await tab.close()
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
  const body = { name: 'annex', direction: 'outbound', group: '$smart', url: 'wss://127.0.0.9/mcp/?token=canary-5582' }
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

test('shows settings of the environment and of the settings file, and where a test fails', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/assistant')
  await page.waitForSelector('text=From the environment')
  await page.waitForSelector('text=ASSISTANT_API_KEY')
  await page.waitForSelector('.callout:has-text("endpoints that cannot be used"):has-text("/assistant/endpoints/1")')
  expect(await axe(tab)).toEqual([])
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

beyondCore(() => {
  // Last: the hub waits a minute between two messages of a rule.
  test('the server that went away and is back resolves, with one message', async () => {
    const tab = await openTab(browser, hub, admin)
    const { page } = tab
    await tab.open('/alerts')
    await page.waitForSelector('text=Nothing fires', { timeout: 180_000 })
    await page.waitForSelector('text=resolved: admin~remote')
    expect(await axe(tab)).toEqual([])
    await tab.go('/alerts?tab=history', 'pb-alerts-history tr[data-key]')
    expect(await axe(tab)).toEqual([])
    await tab.fitsSideways('asPhone')
    await tab.close()
    await until(() => kinds().length === 3, { what: 'the message of its end', timeoutMs: 60_000, intervalMs: 250 })
    expect(kinds()).toEqual(['test', 'fired', 'resolved'])
  }, 600_000)
})
