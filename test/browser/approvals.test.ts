/** A person decides about calls at the console. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { sharedFixture } from '../mcp/shared-fixture.ts'
import type { Client, Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

setDefaultTimeout(120_000)

/** A folder for pictures of the page, if they are wanted. */
const PICTURES = process.env.APPROVAL_PICTURES
const VIEWS: readonly (readonly [string, View])[] = [
  ['wide', {}],
  ['dark', { theme: 'dark' }],
  ['chinese', { language: 'zh' }],
  ['phone', PHONE],
]

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const mcpServers = { bank: sharedFixture('counting') }
  ;({ hub, admin } = await startOnline({ settings: { mcpServers } }))
  // biome-ignore lint/suspicious/noThenProperty: the word of rules
  const rules = [{ when: { tools: ['pay'] }, then: 'ask', remember: '1h' }]
  await admin.ok('PUT', '/api/servers/bank/approvals', { rules })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const pay = (amount: number) =>
  admin.request('POST', '/api/servers/bank/tools/pay/call', { arguments: { amount, token: 'canary-of-a-card' } })

test('what waits is shown at once, and one click lets one call pass', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await page.goto(`${hub.url}/approvals`)
  await page.getByText('Nothing waits for you').waitFor()
  const first = pay(120)
  await page.getByRole('heading', { name: 'pay', exact: true }).waitFor()
  expect(await page.getByText('120').count()).toBeGreaterThan(0)
  expect(await page.content()).not.toContain('canary-of-a-card')
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Allow once: pay' }).click()
  expect((await first).status).toBe(200)
  await page.getByText('allowed by admin').waitFor()
  const second = pay(130)
  await page.getByRole('button', { name: 'Deny pay' }).click()
  expect((await second).json.code).toBe('approval_denied')
  await page.getByText('denied by admin').waitFor()
  expect(await axe(tab)).toEqual([])
  await tab.close()
})

test.each(VIEWS)('the link of a call leads to it: %s', async (name, view) => {
  const call = pay(1_000 + VIEWS.findIndex(([each]) => each === name))
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  await page.goto(`${hub.url}/approvals`)
  await page.locator('pb-page-approvals .btn.pri').first().waitFor()
  const { items } = await admin.ok('GET', '/api/approvals?state=pending')
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/approvals-${name}.png`, fullPage: true })
  await page.goto(`${hub.url}/approvals/${items[0].id}`)
  await page.locator('pb-page-approvals .btn.bad').waitFor()
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/approval-${name}.png`, fullPage: true })
  await page.locator('pb-page-approvals .btn.bad').click()
  expect((await call).json.code).toBe('approval_denied')
  await tab.close()
})

test.each(VIEWS)('the page of usage shows quotas and calls: %s', async (name, view) => {
  await admin.ok('PUT', '/api/admin/users/admin/quota', { quota: { perDay: 1_000, atOnce: 20 } })
  await admin.ok('POST', '/api/servers/bank/tools/paid/call', {})
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  await page.goto(`${hub.url}/usage?by=tool`)
  await page.getByText('admin / bank · paid').first().waitFor()
  expect(await page.locator('pb-page-usage table').count()).toBe(2)
  expect(await axe(tab)).toEqual([])
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/usage-${name}.png`, fullPage: true })
  await tab.close()
})
