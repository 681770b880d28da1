/** Pages for administrators only: users, settings of the hub, plugins with pages of their own. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { makeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, PHONE } from './support/console.ts'

const KEY = 'key-of-the-shop-1234'
const RAIL_ORDERS = '.rail a[href="/x/orders-page/orders"]'
const RAIL_ALL = '.rail a[href="/x/orders-page/all"]'
let browser: Browser
let hub: Hub
let admin: Client
let user: Client
let folder: string

beforeAll(async () => {
  browser = await openBrowser()
  folder = await makeTemp('orders-page')
  await cp(join(import.meta.dir, '../plugins/examples/orders-page'), folder, { recursive: true })
  const config = { shop: 'north', most: 3, apiKey: KEY }
  hub = await startHub({ settings: { plugins: [{ use: join(folder, 'plugin.ts'), config }] } })
  admin = await hub.setup()
  user = await hub.user('mia')
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await rm(folder, { recursive: true, force: true })
}, 120_000)

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

  const own = await openTab(browser, hub, undefined)
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

test('settings of the hub that somebody else saved meanwhile: both are shown, and mine can be saved over theirs', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await page.goto(`${hub.url}/settings/logs`)
  const field = page.locator('[aria-labelledby="label-logMaxFiles"]')
  await field.fill('9')
  await field.press('Tab')
  await page.waitForSelector('.setfoot')
  await admin.ok('PATCH', '/api/admin/settings', { logMaxFiles: 7 })
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  await page.route('**/api/admin/settings', async route => {
    if (route.request().method() === 'GET') {
      asked.resolve()
      await answered.promise
    }
    await route.continue()
  })
  await page.click('.setfoot .btn.pri')
  await asked.promise
  // The typed values are compared only after the saved ones were read.
  expect(await page.locator('.callout.warn').count()).toBe(0)
  answered.resolve()
  await page.waitForSelector('.callout:has-text("You have saved this meanwhile, elsewhere.")')
  // The warning must be visible below the bar of the console, which is 48 pixels high.
  await page.waitForFunction(() => {
    const { top = 0, bottom = 0 } = document.querySelector('.callout.warn')?.getBoundingClientRect() ?? {}
    return top >= 48 && bottom <= innerHeight
  })
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
  const other = await openTab(browser, hub, user)
  await other.open('/settings/hub')
  await other.page.waitForSelector('text=This page is for administrators')
  expect(await axe(other)).toEqual([])
  await other.close()
})

const orders = async () => (await admin.request('GET', '/api/plugins/orders-page/orders')).json

test('the hub serves the script of a page and nothing else of the folder', async () => {
  const { items } = (await user.request('GET', '/api/plugins/pages')).json
  expect(items).toMatchObject([{ plugin: 'orders-page', path: 'orders', element: 'orders-page', access: 'user' }])
  expect((await admin.request('GET', '/api/plugins/pages')).json.items).toHaveLength(3)
  const [{ script }] = items
  const answer = await fetch(`${hub.url}${script}`)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(await answer.text()).toBe(await Bun.file(join(folder, 'page.js')).text())
  const beside = script.slice(0, script.lastIndexOf('/'))
  const others = [`${beside}/plugin.ts`, `${beside}/page.js`, script.replace(/[0-9a-f]{32}/, '0'.repeat(32)), beside]
  for (const other of others) expect([other, (await fetch(`${hub.url}${other}`)).status]).toEqual([other, 404])
})

test('administrators see the pages in the rail, and a broken one says so', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/')
  await page.click(RAIL_ORDERS)
  await page.waitForSelector('orders-page:has-text("3 orders of north, light")')
  expect(await page.getAttribute(RAIL_ORDERS, 'aria-current')).toBe('page')
  expect(await page.textContent('h1')).toBe('Orders')
  // One element for two pages: the script is loaded once.
  await page.click(RAIL_ALL)
  await page.waitForSelector('h1:has-text("All orders")')
  await page.waitForSelector('orders-page:has-text("3 orders of north")')
  await page.click('orders-page button')
  await page.waitForSelector('h1:has-text("Servers")')
  await page.goto(`${hub.url}/x/orders-page/broken`)
  await page.waitForSelector('text=plugin_page_failed')
  await page.waitForSelector('[role=alert]:has-text("this script is broken on purpose")')
  await page.click('.rail a[href="/groups"]')
  await page.waitForSelector('h1:has-text("Groups")')
  await page.goto(`${hub.url}/x/orders-page/nothing`)
  await page.waitForSelector('text=This page is not there now')
  await tab.close()
})

test('an ordinary user sees no page of administrators, in Chinese and on a phone', async () => {
  const tab = await openTab(browser, hub, user, { ...PHONE, language: 'zh' })
  const { page } = tab
  await tab.open('/x/orders-page/orders')
  await page.waitForSelector('orders-page:has-text("north 的 3 个订单")')
  expect(await page.textContent('h1')).toBe('订单')
  expect(await page.locator(RAIL_ALL).count()).toBe(0)
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways()
  await tab.open('/x/orders-page/all')
  await page.waitForSelector('.empty')
  expect(await page.locator('orders-page').count()).toBe(0)
  await tab.close()
})

test('the form of the configuration: the field’s error, a kept secret, and the page follows', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/admin/plugins?plugin=orders-page')
  const shop = page.getByLabel('Shop')
  await shop.waitFor()
  expect(await shop.inputValue()).toBe('north')
  expect(await page.content()).not.toContain(KEY)
  await page.waitForSelector('text=0.3.0')
  expect(await axe(tab)).toEqual([])
  await shop.fill('NORTH')
  await page.click('button[form="plugin-config"]')
  await page.waitForSelector('.hint.bad:has-text("Lower-case letters are wanted")')
  expect(await orders()).toEqual({ shop: 'north', most: 3, keyLength: KEY.length })
  await shop.fill('south')
  await page.click('button[form="plugin-config"]')
  await until(async () => (await orders()).shop === 'south', { what: 'the new configuration' })
  expect(await orders()).toEqual({ shop: 'south', most: 3, keyLength: KEY.length })
  await tab.close()
})

test('switching the plugin off takes its page out of every tab without a reload', async () => {
  const tab = await openTab(browser, hub, user)
  const { page } = tab
  await tab.open('/x/orders-page/orders')
  await page.waitForSelector('orders-page:has-text("orders of south")')
  await page.evaluate(() => Object.assign(globalThis, { sameTab: true }))
  const other = await openTab(browser, hub, admin)
  await other.open('/admin/plugins')
  await other.page.getByRole('switch', { name: 'orders-page on' }).click()
  await page.waitForSelector('text=This page is not there now')
  await page.waitForSelector(RAIL_ORDERS, { state: 'detached' })
  await other.page.waitForSelector(RAIL_ALL, { state: 'detached' })
  await other.page.getByRole('switch', { name: 'orders-page on' }).click()
  await page.waitForSelector('orders-page:has-text("orders of south")')
  expect(await page.evaluate(() => 'sameTab' in globalThis)).toBe(true)
  await other.close()
  await tab.close()
})

test('a switch sends what was chosen, also before its page knows of the last change, and goes back where it is refused', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/admin/plugins')
  const toggle = page.getByRole('switch', { name: 'orders-page on' })
  await toggle.waitFor()
  const gate = Promise.withResolvers<void>()
  await page.route(/\/api\/admin\/plugins\?/, async route => {
    await gate.promise
    await route.continue()
  })
  const sent: unknown[] = []
  page.on('request', request => {
    if (request.method() === 'PATCH') sent.push(request.postDataJSON())
  })
  const first = Promise.withResolvers<void>()
  await page.route(
    /\/api\/admin\/plugins\/orders-page/,
    async route => {
      await first.promise
      await route.continue()
    },
    { times: 1 },
  )
  await toggle.click()
  await toggle.click()
  await page.waitForTimeout(300)
  // The second change waits for the answer to the first, since it could overtake it.
  expect(sent).toEqual([{ enabled: false }])
  first.resolve()
  await until(() => sent.length === 2, { what: 'both changes' })
  expect(sent).toEqual([{ enabled: false }, { enabled: true }])
  gate.resolve()
  await page.waitForSelector(RAIL_ALL)
  await until(
    async () => {
      const { items } = await admin.ok('GET', '/api/admin/plugins')
      return items.find(({ name }: { name: string }) => name === 'orders-page').state === 'running'
    },
    { what: 'the plugin to run, as was chosen last' },
  )

  const problem = { title: 'The database is not available', status: 503, code: 'storage_unavailable' }
  await page.route(/\/api\/admin\/plugins\/orders-page/, route =>
    route.fulfill({ status: 503, contentType: 'application/problem+json', body: JSON.stringify(problem) }),
  )
  await toggle.click()
  await page.waitForSelector('.toast')
  await until(() => toggle.isChecked(), { what: 'the switch to be as it was' })
  await tab.close()
})
