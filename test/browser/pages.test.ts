import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { axe, openBrowser, openTab, sharedOut, VIEWS } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client
let user: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ settings: { mcpServers: { sample: stdioFixture('echo') } } })
  admin = await hub.setup()
  user = await hub.user('li.wei')
  await online(admin, ['sample'])
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

/** Pages that have no file of tests of their own, each with a text that stands on it when it is ready. */
const PAGES: readonly (readonly [string, string])[] = [
  ['/market', '.mcard'],
  ['/market?drawer=sources', 'wa-drawer .list li'],
  ['/market/bundled:airtable', '#install-name'],
  ['/settings', '#current'],
  ['/settings/hosted-keys', '.list li'],
  ['/settings/appearance', '#theme'],
  ['/settings/limits', 'td code'],
  ['/settings/hub', '.setrow'],
  ['/settings/logs', 'td .nm'],
  ['/settings/raw', 'pre.code'],
  ['/admin/users', 'td .nm'],
  ['/admin/users?drawer=new', '#new-name'],
  ['/admin/plugins', 'td .nm'],
  ['/admin/plugins?plugin=hosted-keys', 'wa-drawer h2'],
  ['/admin/audit', 'td code'],
  ['/reference', '.apilist details'],
  ['/no/such/page', '.empty'],
]

test.each(VIEWS)(
  'no violation that axe finds, nothing sideways, no error: %s',
  async (_, view) => {
    const found: string[] = []
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    for (const [path, ready] of sharedOut(PAGES, view)) {
      await tab.page.goto(`${hub.url}${path}`)
      await tab.page.waitForSelector(ready)
      found.push(...(await axe(tab)).map(violation => `${path}: ${violation}`))
      await tab.fitsSideways('asPhone').catch(error => found.push(String(error)))
    }
    await tab.close()
    expect(found).toEqual([])
  },
  600_000,
)

test('with its policy on, no page breaks it', async () => {
  const tab = await openTab(browser, hub, admin)
  for (const [path, ready] of PAGES) {
    await tab.page.goto(`${hub.url}${path}`)
    await tab.page.waitForSelector(ready)
  }
  await tab.close()
}, 300_000)

test('a page for administrators says so to others, and its data are not asked for', async () => {
  const tab = await openTab(browser, hub, user)
  const asked: string[] = []
  tab.page.on('request', request => asked.push(request.url()))
  await tab.page.goto(`${hub.url}/admin/audit`)
  await tab.page.waitForSelector('text=This page is for administrators')
  expect(asked.filter(url => url.includes('/api/admin/'))).toEqual([])
  expect(await tab.page.locator('.rail').textContent()).not.toContain('Audit')
  await tab.close()
})

test('a user is made, changed and deleted; the first password is shown once', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/admin/users?drawer=new')
  await page.fill('#new-name', 'noor')
  await page.click('button:has-text("Make user")')
  const password = (await page.textContent('.keytext')) ?? ''
  expect(password.length).toBeGreaterThan(20)
  await page.click('button:has-text("I have stored it")')
  await page.waitForSelector('td:has-text("noor")')
  const signIn = await fetch(`${hub.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'noor', password }),
  })
  expect(await signIn.json()).toMatchObject({ user: { name: 'noor' } })
  await page.locator('tr', { hasText: 'noor' }).locator('wa-dropdown button').click()
  await page.locator('tr', { hasText: 'noor' }).locator('wa-dropdown-item', { hasText: 'Delete' }).click()
  await page.fill('#remove-typed', 'noor')
  await page.click('button:has-text("Delete user")')
  await page.waitForSelector('td:has-text("noor")', { state: 'detached' })
  expect((await admin.request('GET', '/api/admin/users/noor')).status).toBe(404)
  await tab.close()
})

test('a reset link sets a password once and signs in; open sign-ins are listed and ended', async () => {
  const kim = await hub.user('kim')
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/admin/users')
  const row = page.locator('tr', { hasText: 'kim' })
  await row.locator('wa-dropdown button').click()
  await row.locator('wa-dropdown-item', { hasText: 'Make a reset link' }).click()
  const link = (await page.textContent('.keytext')) ?? ''
  expect(link).toStartWith(`${hub.url}/reset-password#`)
  await tab.close()

  const own = await openTab(browser, hub, undefined, { withoutPolicy: true })
  await own.page.goto(link)
  await own.page.fill('#next', 'kim')
  await own.page.keyboard.press('Enter')
  await own.page.waitForSelector('.hint.bad')
  expect(new URL(own.page.url()).hash).toBe('')
  expect(await axe(own)).toEqual([])
  await own.page.fill('#next', 'a wholly other sentence 9')
  await own.page.keyboard.press('Enter')
  await own.page.waitForSelector('.rail')
  expect((await kim.request('GET', '/api/auth/me')).status).toBe(401)
  const elsewhere = await hub.signIn('kim', 'a wholly other sentence 9')
  await own.open('/settings')
  await own.page.waitForSelector('pb-sign-ins li:has-text("this one")')
  expect(await own.page.locator('pb-sign-ins li').count()).toBe(2)
  expect(await own.page.locator('pb-sign-ins li:has-text("this one")').textContent()).toContain('Chrome')
  await own.page.click('pb-sign-ins li button:has-text("End")')
  await own.page.waitForFunction(() => document.querySelectorAll('pb-sign-ins li').length === 1)
  expect((await elsewhere.request('GET', '/api/auth/me')).status).toBe(401)
  await own.close()

  const late = await openTab(browser, hub)
  await late.page.goto(link)
  await late.page.fill('#next', 'a wholly other sentence 9')
  await late.page.keyboard.press('Enter')
  await late.page.waitForSelector('text=This link was used or has ended')
  await late.close()
}, 120_000)

test('the market installs what it shows, and starts nothing', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/market')
  await page.fill('[data-search]', 'airtable')
  await page.click('.mcard:has-text("Airtable")')
  await page.waitForSelector('#input-AIRTABLE_API_KEY')
  expect(await page.textContent('aside pre.code')).toContain('airtable-mcp-server@')
  const install = page.locator('form button.pri')
  expect(await install.isDisabled()).toBe(true)
  await page.fill('#input-AIRTABLE_API_KEY', 'key-0123456789abcdef')
  await page.waitForSelector('form button.pri:not([disabled])')
  await install.click()
  await page.waitForURL(/admin~airtable/)
  const record = await admin.ok('GET', '/api/servers/admin~airtable')
  expect([record.enabled, JSON.stringify(record).includes('key-0123456789abcdef')]).toEqual([false, false])
  await tab.close()
})

test('settings of the hub that somebody else saved meanwhile: both are shown, and mine goes on top of theirs', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await page.goto(`${hub.url}/settings/logs`)
  const field = page.locator('[aria-labelledby="label-logMaxFiles"]')
  await field.fill('9')
  await field.press('Tab')
  await page.waitForSelector('.setfoot')
  await admin.ok('PATCH', '/api/admin/settings', { logMaxFiles: 7 })
  await page.click('.setfoot .btn.pri')
  await page.waitForSelector('.callout:has-text("You have saved this meanwhile, elsewhere.")')
  expect(await page.locator('.callout tbody tr').allInnerTexts()).toEqual([
    expect.stringMatching(/logMaxFiles\s+7\s+9/),
  ])
  expect((await admin.ok('GET', '/api/admin/settings')).logMaxFiles).toBe(7)
  await page.click('.callout button:has-text("Save mine")')
  await page.waitForSelector('.setfoot', { state: 'detached' })
  expect((await admin.ok('GET', '/api/admin/settings')).logMaxFiles).toBe(9)
  await tab.close()
})

test('settings of the hub are drawn by what they are, amounts as one writes them, and are for administrators', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/settings/hub')
  const offline = page.getByRole('switch', { name: 'Market without network' })
  expect(await offline.isChecked()).toBe(false)
  expect(await page.getByLabel('Who may use the market').evaluate(field => field.tagName)).toBe('SELECT')
  await offline.check()
  await tab.open('/settings/logs')
  const kept = page.locator('[aria-labelledby="label-logRetentionMs"]')
  expect(await kept.inputValue()).toMatch(/^\d+d$/)
  await kept.fill('3d')
  await kept.press('Tab')
  await page.click('.setfoot .btn.pri')
  await page.waitForSelector('.setfoot', { state: 'detached' })
  expect((await admin.ok('GET', '/api/admin/settings')).logRetentionMs).toBe(3 * 86_400_000)
  await tab.close()
  const other = await openTab(browser, hub, await hub.user('mia'), { withoutPolicy: true })
  await other.open('/settings/hub')
  await other.page.waitForSelector('text=This page is for administrators')
  expect(await axe(other)).toEqual([])
  await other.close()
})
