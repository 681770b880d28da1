/** Quotas of connected apps, users and keys in the console, shown to the one who sets them and to the one whose they are. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { sharedFixture } from '../mcp/shared-fixture.ts'
import type { Client, Hub } from '../support/hub.ts'
import { RawOAuth } from '../support/oauth.ts'
import { startOnline } from '../support/online-hub.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

setDefaultTimeout(120_000)

/** A folder for pictures of the page, if they are wanted. */
const PICTURES = process.env.QUOTA_PICTURES
const VIEWS: readonly (readonly [string, View])[] = [
  ['wide', {}],
  ['dark', { theme: 'dark' }],
  ['chinese', { language: 'zh' }],
  ['phone', { ...PHONE, language: 'zh', theme: 'dark' }],
]

let browser: Browser
let hub: Hub
let admin: Client
let grantId: string

beforeAll(async () => {
  browser = await openBrowser()
  ;({ hub, admin } = await startOnline({ settings: { mcpServers: { echo: sharedFixture('echo') } } }))
  await hub.user('bo')
  const app = await new RawOAuth(hub.url).register({ client_name: 'Notes app' })
  const { access_token: token } = await app.tokens(admin, '/mcp/echo')
  grantId = (await admin.ok('GET', '/api/oauth/grants')).items[0].id
  await admin.ok('PUT', `/api/grants/${grantId}/quota`, { quota: { atOnce: 4 } })
  const client = new RawModern(hub, '/mcp/echo', token)
  await client.call('tools/call', { name: 'echo', arguments: { text: 'x' } })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

test('a user limits a connected app, and sees on the page of usage what it has used', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await page.goto(`${hub.url}/apps`)
  await page.getByRole('button', { name: 'Quota of Notes app' }).click()
  await page.locator('#grant-quota-perDay').fill('1.5')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('#grant-quota-perDay[aria-invalid=true]').waitFor()
  await page.locator('#grant-quota-perDay').fill('1')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The quota of Notes app is saved').waitFor()
  expect((await admin.ok('GET', `/api/grants/${grantId}/quota`)).quota).toEqual({ atOnce: 4, perDay: 1 })
  await tab.go('/usage', 'pb-page-usage table')
  await page.getByText('client Notes app').first().waitFor()
  await page.getByRole('img', { name: 'client Notes app, calls in a day: 1 of 1 used' }).waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Alert me when 80 % are used' }).click()
  await page.getByText('An alert rule watches these quotas.').waitFor()
  const { items } = await admin.ok('GET', '/api/monitoring/rules')
  expect(items).toEqual([expect.objectContaining({ condition: 'quotas.used >= 80%', repeatInterval: '0s' })])
  await tab.close()
})

test('an administrator limits a user, who sees it; an ordinary user has no such form', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.go('/admin/users', 'pb-page-users table')
  await page.getByRole('button', { name: 'Actions for bo' }).click()
  await page.getByRole('menuitem', { name: 'Quota' }).click()
  await page.locator('#user-quota-perDay').fill('50')
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The quota of bo is saved').waitFor()
  await tab.close()
  const bo = await hub.signIn('bo')
  const own = await openTab(browser, hub, bo)
  await own.go('/usage', 'pb-page-usage table')
  await own.page.getByRole('img', { name: 'your account, calls in a day: 0 of 50 used' }).waitFor()
  await own.close()
})

test('a key that a key has made shows the quota of its maker', async () => {
  const { id, secret } = await admin.ok('POST', '/api/keys', { label: 'agent', scopes: ['api'] })
  await admin.ok('PUT', `/api/keys/${id}/quota`, { quota: { perDay: 10 } })
  const body = { label: 'helper', scopes: ['api'] }
  await admin.request('POST', '/api/keys', body, { authorization: `Bearer ${secret}` })
  const tab = await openTab(browser, hub, admin)
  await tab.go('/keys', 'td .nm')
  await tab.page.getByRole('button', { name: 'Quota of helper' }).click()
  await tab.page.getByText('Calls count for the key agent too').waitFor()
  await tab.page.getByText('0 of 10 calls in a day').waitFor()
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await tab.page.screenshot({ path: `${PICTURES}/key.png` })
  await tab.close()
})

test.each(VIEWS)('the owner of a server sees its use by person, a colleague the own part: %s', async (name, view) => {
  await admin.ok('PUT', '/api/servers/echo/shares/user:bo', { role: 'use' })
  await admin.ok('PUT', '/api/servers/echo/quota', { quota: { perDay: 100 }, tools: { ecko: { perDay: 5 } } })
  const bo = await hub.signIn('bo')
  await bo.ok('POST', '/api/servers/admin~echo/tools/echo/call', { arguments: { text: 'x' } })
  const tab = await openTab(browser, hub, admin, view)
  await tab.go('/servers/admin~echo?tab=rules', 'pb-quotas table')
  const people = tab.page.locator('pb-quotas tbody tr')
  expect((await people.allTextContents()).some(row => row.includes('bo'))).toBe(true)
  await tab.page.locator('pb-quotas li', { hasText: 'ecko' }).locator('.tag.warn').waitFor()
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await tab.page.screenshot({ path: `${PICTURES}/people-${name}.png`, fullPage: true })
  await tab.close()
  const own = await openTab(browser, hub, bo, view)
  await own.go('/usage', 'pb-page-usage table')
  const text = await own.page.locator('pb-page-usage tr', { hasText: 'echo' }).first().textContent()
  expect(text).toMatch(/admin/)
  expect(text).toMatch(view.language === 'zh' ? /您 \d/ : /\d by you/)
  expect(await axe(own)).toEqual([])
  if (PICTURES) await own.page.screenshot({ path: `${PICTURES}/shared-${name}.png`, fullPage: true })
  await own.close()
})

test.each(VIEWS)('forms and bars fit: %s', async (name, view) => {
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  const picture = async (of: string) => {
    if (PICTURES) await page.screenshot({ path: `${PICTURES}/${of}-${name}.png`, fullPage: true })
  }
  await tab.go('/usage', 'pb-page-usage .meter')
  expect(await axe(tab)).toEqual([])
  await picture('usage')
  await tab.go('/apps', 'pb-rules button')
  await picture('apps')
  await page.locator('pb-rules button').first().click()
  await page.locator('#grant-quota-perDay').waitFor()
  await page.locator('pb-one-quota .meter').first().waitFor()
  expect(await axe(tab)).toEqual([])
  await picture('app')
  await tab.close()
})
