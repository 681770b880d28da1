/** A person lets an app use the hub, sees what is connected, and ends it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { type Client, type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { RawOAuth } from '../support/oauth.ts'
import { axe, openBrowser, openTab, PHONE } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client
let app: RawOAuth

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub()
  admin = await hub.setup()
  await admin.ok('POST', '/api/groups', { name: 'work' })
  // A tab refuses requests to another host, so that the answer goes to a path of this one.
  app = await new RawOAuth(hub.url, `${hub.url}/health`).register()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('someone who is not signed in signs in first, decides, and the answer goes to the app', async () => {
  const tab = await openTab(browser, hub)
  const { page } = tab
  await page.goto(app.url('/mcp').href)
  await page.getByLabel('User', { exact: true }).fill('admin')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Let “Raw” use this hub?' }).waitFor()
  expect(await page.getByText(new URL(hub.url).host, { exact: true }).isVisible()).toBe(true)
  expect(await page.getByText('Any program can use this name').isVisible()).toBe(true)
  await page.getByLabel('Which servers may it use?').selectOption({ label: 'group work' })
  await page.getByLabel('call tools as you').uncheck()
  expect(await axe(tab)).toEqual([])
  const [request] = await Promise.all([
    page.waitForRequest(one => new URL(one.url()).pathname === '/health'),
    page.getByRole('button', { name: 'Allow' }).click(),
  ])
  const code = new URL(request.url()).searchParams.get('code') as string
  expect((await app.redeem(code)).body.scope).toBe('mcp:read')
  // A tab that is closed between two sites is sometimes never reported closed.
  await page.waitForURL(`${hub.url}/health?*`)
  await tab.close()
})

test('what is connected is seen in Chinese and on a phone, and ended', async () => {
  await app.tokens(admin, '/mcp/work')
  const chinese = await openTab(browser, hub, admin, { language: 'zh', theme: 'dark' })
  await chinese.page.goto(app.url('/mcp/work').href)
  await chinese.page.getByRole('heading', { name: '允许“Raw”使用此 Hub？' }).waitFor()
  expect(await axe(chinese)).toEqual([])
  await chinese.close()
  const tab = await openTab(browser, hub, admin, PHONE)
  const { page } = tab
  await page.goto(`${hub.url}/apps`)
  await page.getByRole('button', { name: 'Disconnect Raw' }).first().waitFor()
  expect(await axe(tab)).toEqual([])
  const { items } = await admin.ok('GET', '/api/oauth/grants')
  await page.getByRole('button', { name: 'Disconnect Raw' }).first().click()
  await page.getByRole('button', { name: 'Disconnect', exact: true }).click()
  await page.getByText('Raw is disconnected').waitFor()
  expect((await admin.ok('GET', '/api/oauth/grants')).items).toHaveLength(items.length - 1)
  await tab.close()
})

test('an administrator lists an app, and blocks one', async () => {
  await app.tokens(admin, '/mcp/work')
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await page.goto(`${hub.url}/keys`)
  await page.getByRole('link', { name: 'Connected apps' }).click()
  await page.getByRole('link', { name: 'Apps of all users' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Chat')
  await page.getByLabel('Addresses for the answer').fill('https://chat.example/callback')
  await page.getByLabel('Client secret').selectOption('client_secret_post')
  await page.getByRole('button', { name: 'List the app' }).click()
  await page.getByText(/^pbs_/).waitFor()
  await page.getByRole('button', { name: 'Block Raw' }).first().click()
  await page.getByRole('button', { name: 'Block', exact: true }).last().click()
  await page.getByRole('button', { name: 'Unblock Raw' }).waitFor()
  expect(await axe(tab)).toEqual([])
  await tab.close()
})

test('a request that is not one says so, and sends nothing', async () => {
  const tab = await openTab(browser, hub, admin)
  await tab.page.goto(`${hub.url}/consent?request=AAAA`)
  await tab.page.getByRole('heading', { name: 'This app cannot be connected' }).waitFor()
  await tab.page.getByText('flow_unknown').waitFor()
  await tab.close()
})
