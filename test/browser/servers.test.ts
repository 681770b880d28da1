import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  for (const body of [
    { name: 'echo', ...stdioFixture('echo') },
    { name: 'slow', ...stdioFixture('slow') },
    { name: 'resting', ...stdioFixture('echo'), enabled: false },
    { name: 'nowhere', command: 'no-such-program-of-a-test' },
  ])
    await admin.ok('POST', '/api/servers', body)
  await admin.ok('POST', '/api/groups', { name: 'daily', members: [{ server: 'echo' }] })
  await until(async () => (await admin.ok('GET', '/api/servers/echo')).status.state === 'online', {
    what: 'echo online',
    timeoutMs: 60_000,
  })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

test.each(VIEWS)('the list of servers has no axe violation and fits sideways: %s', async (_, view) => {
  const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
  await tab.open('/servers')
  await tab.page.waitForSelector('tr[data-key="admin~echo"]')
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways()
  await tab.close()
})

test('faults stand first, search and chips narrow the list, and the address holds the view', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers')
  await page.waitForSelector('tr[data-key="admin~nowhere"] .st.bad')
  expect(await page.getAttribute('tbody tr:first-child', 'data-key')).toBe('admin~nowhere')
  await page.keyboard.press('/')
  await page.keyboard.type('ech')
  await page.waitForSelector('tr[data-key="admin~slow"]', { state: 'detached' })
  expect(new URL(page.url()).searchParams.get('q')).toBe('ech')
  await page.fill('[data-search]', 'no server has this name')
  await page.click('text=Clear filters')
  await page.click('.chip:has-text("Stopped")')
  await page.waitForSelector('tr[data-key="admin~echo"]', { state: 'detached' })
  await page.reload()
  await page.waitForSelector('tr[data-key="admin~resting"]')
  expect(await page.locator('tr[data-key]').count()).toBe(1)
  await tab.close()
})

test('the switch stops a server with Undo, x does it by keyboard, and the live stream shows it in another tab', async () => {
  const tab = await openTab(browser, hub, admin)
  const other = await openTab(browser, hub, admin)
  const { page } = tab
  await other.open('/servers')
  await other.page.waitForSelector('tr[data-key="admin~slow"]')
  await tab.open('/servers')
  await page.click('tr[data-key="admin~slow"] [role=switch]')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.rest:has-text("Stopped")')
  await page.click('.toast >> text=Undo')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.ok')
  await page.focus('tr[data-key="admin~slow"]')
  await page.keyboard.press('x')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.rest:has-text("Stopped")')
  await page.waitForSelector('tr[data-key="admin~slow"] .st.rest:has-text("Stopped")')
  await page.keyboard.press('x')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.ok')
  await page.keyboard.press('n')
  await page.waitForURL('**/servers/new')
  await tab.close()
  await other.close()
})

test('a bulk deed leaves out servers of others and says so; deleting wants the name and names the groups', async () => {
  const ben = await hub.user('ben')
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
  const own = { name: 'mine', url: 'http://127.0.0.1:9/mcp', transport: 'streamable-http' }
  await ben.ok('POST', '/api/servers', own)
  const tab = await openTab(browser, hub, ben)
  const { page } = tab
  await tab.open('/servers')
  await page.waitForSelector('tr[data-key="admin~echo"]')
  expect(await page.locator('tr[data-key="admin~echo"] [role=switch]').count()).toBe(0)
  expect(await page.locator('tr[data-key="admin~slow"]').count()).toBe(0)
  await page.check('thead input[type=checkbox]')
  await page.waitForSelector('.bulk:has-text("belong to admin")')
  await page.click('.bulk >> text=Delete')
  await page.waitForSelector('#confirm-typed')
  const remove = page.locator('wa-dialog[open] .btn.danger')
  expect(await remove.isDisabled()).toBe(true)
  await page.fill('#confirm-typed', 'mine')
  await remove.click()
  await page.waitForSelector('tr[data-key="ben~mine"]', { state: 'detached' })
  expect(await page.locator('tr[data-key="admin~echo"]').count()).toBe(1)
  await tab.close()
})
