/** The page of alerts in a real browser: a suggested rule, and a channel with its test message. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { startGoodAndBad } from '../support/good-and-bad.ts'
import { type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { startReceiver } from '../support/receiver.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, sharedOut, VIEWS } from './support/console.ts'

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
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  receiver.stop()
  await way.stop(true)
  await remote.stop()
}, 120_000)

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

test('a server that goes away is pending, fires and resolves, with one message each', async () => {
  const server = { name: 'remote', url: `http://127.0.0.1:${way.port}/mcp` }
  await admin.ok('POST', '/api/servers', {
    ...server,
    healthCheck: { enabled: true, interval: 1_000, timeout: 30_000 },
  })
  await online(admin, ['remote'])
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/alerts?tab=rules')
  await page.click('a:has-text("Server offline")')
  await page.fill('.cond input[aria-label="Duration"]', '20s')
  await page.press('.cond input[aria-label="Duration"]', 'Tab')
  await page.click('text=Save rule')
  await page.waitForSelector('text=Rule Server offline saved')
  expect(await admin.ok('GET', '/api/monitoring/rules/Server offline')).toMatchObject({
    ...{ duration: '20s', keepFiringFor: '30s' },
  })

  const { port = 0 } = way
  await way.stop(true)
  await tab.open('/alerts')
  await page.waitForSelector('.af >> text=Pending', { timeout: 120_000 })
  await page.waitForSelector('.af.bad h2:has-text("Server offline")', { timeout: 120_000 })
  await page.waitForSelector('.af.bad >> text=admin~remote')
  const kinds = (): readonly string[] => receiver.received.map(({ json }) => json.kind)
  await until(() => kinds().length === 2, { what: 'the message of the alert', timeoutMs: 60_000 })
  way = openWay(port)
  await page.waitForSelector('text=Nothing fires', { timeout: 180_000 })
  await page.waitForSelector('text=resolved: admin~remote')
  await until(() => kinds().length === 3, { what: 'the message of its end', timeoutMs: 60_000 })
  expect(kinds()).toEqual(['test', 'fired', 'resolved'])
  expect(receiver.received[1]?.json.instances).toMatchObject([{ subject: 'admin~remote', state: 'firing' }])
  await tab.close()
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
  await tab.close()
}, 120_000)

test.each(VIEWS)(
  'axe finds nothing and nothing scrolls sideways: %s',
  async (_, view) => {
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    const tabs = ['firing', 'rules', 'channels', 'history', 'silences'].map(name => `/alerts?tab=${name}`)
    for (const path of sharedOut([...tabs, '/alerts/rules/new', '/alerts/channels/admin~local'], view)) {
      await tab.open(path)
      await tab.page.waitForSelector('.list li, .empty, form, .feed li, table')
      expect([path, (await axe(tab)).filter(one => !one.startsWith('region: '))]).toEqual([path, []])
      await tab.fitsSideways()
    }
    await tab.close()
  },
  300_000,
)
