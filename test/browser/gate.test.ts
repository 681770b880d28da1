import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { extent } from '../support/extent.ts'
import { type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

let browser: Browser
let hub: Hub

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub()
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

test('first run: token from the log, administrator, dashboard; afterwards the page and the token are gone', async () => {
  const token = await until(() => hub.setupToken, { what: 'the set-up token' })
  const tab = await openTab(browser, hub)
  const { page } = tab
  await tab.open('/')
  await page.fill('#token', 'not-the-token')
  await page.keyboard.press('Enter')
  await page.fill('#name', 'admin')
  await page.fill('#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForSelector('text=token_invalid')
  await page.fill('#token', token)
  await page.keyboard.press('Enter')
  await page.fill('#name', 'admin')
  await page.fill('#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForSelector('text=How clients reach the hub')
  await page.click('text=Skip')
  await page.click('text=Skip')
  await page.click('text=To the dashboard')
  await page.waitForSelector('h1:has-text("Welcome")')
  const setup = await fetch(`${hub.url}/setup`, { headers: { accept: 'text/html' } })
  expect(setup.status).toBe(404)
  expect((await fetch(`${hub.url}/api/setup`)).status).toBe(404)
  await tab.close()
})

const VIEWS: readonly (readonly [string, View])[] = [
  ['Chinese, dark, wide', { language: 'zh', theme: 'dark' }],
  ['English, light, phone', PHONE],
  ...extent<readonly (readonly [string, View])[]>([], [['English, light, wide', {}]]),
]

test.each(VIEWS)('sign-in, a deep link kept, reload, sign out, Back: %s', async (_, view) => {
  await hub.setup().catch(() => hub.signIn('admin'))
  const tab = await openTab(browser, hub, undefined, view)
  const { page } = tab
  await page.goto(`${hub.url}/admin/audit?user=admin`)
  await page.waitForSelector('#user')
  // Nothing of the hub is on the page before somebody has signed in.
  expect(await page.textContent('body')).not.toContain('setup.complete')
  const said: string[] = []
  for (const [name, password] of [
    ['admin', 'wrong'],
    ['nobody', 'wrong'],
  ] as const) {
    await page.fill('#user', name)
    await page.fill('#password', password)
    await page.keyboard.press('Enter')
    const alert = page.locator('[role=alert]')
    await alert.waitFor()
    said.push((await alert.textContent()) ?? '')
    await until(async () => !(await page.locator('button.pri').isDisabled()), {
      timeoutMs: 60_000,
      what: 'the next attempt',
    })
  }
  // No word on which half was wrong.
  expect(said[0]).toBe(said[1])
  await page.fill('#user', 'admin')
  await page.fill('#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForSelector('td:has-text("setup.complete")')
  expect(new URL(page.url()).search).toBe('?user=admin')
  await page.reload()
  await page.waitForSelector('td:has-text("setup.complete")')
  await tab.fitsSideways()
  await page.evaluate(() => document.querySelector<HTMLElement>('a.brand')?.click())
  await page.waitForFunction(() => !location.pathname.includes('audit'))
  if (view.touch) await page.evaluate(() => document.querySelector<HTMLElement>('.avatar')?.click())
  else await page.click('.avatar')
  await page.click('wa-dropdown-item >> nth=-1')
  await page.waitForSelector('#user')
  await page.goBack()
  await page.waitForSelector('#user')
  expect(await page.textContent('body')).not.toContain('setup.complete')
  await tab.close()
})

test('the gate has no violation that axe finds, light and dark', async () => {
  for (const theme of ['light', 'dark'] as const) {
    const tab = await openTab(browser, hub, undefined, { theme, withoutPolicy: true })
    await tab.open('/servers')
    expect(await axe(tab)).toEqual([])
    await tab.close()
  }
})

test('a page of the console has its policy, and its files may be kept for ever', async () => {
  const html = { accept: 'text/html' }
  const page = await fetch(`${hub.url}/servers/ann~x`, { headers: html })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
  expect(page.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'")
  expect(page.headers.get('cache-control')).toBe('no-cache')
  const text = await page.text()
  const entry = /<script type="module" src="([^"]+)"/.exec(text)?.[1] ?? ''
  for (const [encoding, coding] of [
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['identity', null],
  ] as const) {
    const script = await fetch(`${hub.url}${entry}`, { headers: { 'accept-encoding': encoding } })
    expect(script.status).toBe(200)
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(script.headers.get('content-encoding')).toBe(coding)
    expect(await script.text()).toContain('pb-app')
  }
  expect((await fetch(`${hub.url}/no/such/page`, { headers: html })).status).toBe(404)
  expect((await fetch(`${hub.url}/assets/..%2fmanifest.json`)).status).toBe(400)
  expect((await fetch(`${hub.url}/assets/manifest.json`)).status).toBe(404)
  expect((await fetch(`${hub.url}/servers`)).status).toBe(404)
})
