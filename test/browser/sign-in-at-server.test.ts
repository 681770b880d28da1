/** A person signs in at a server that wants OAuth, sees it in the console, and signs out. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { GuardedServer, Issuer, signInAt } from '../support/issuer.ts'
import { callText, online, statusOf } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, PHONE } from './support/console.ts'

let browser: Browser
let issuer: Issuer
let server: GuardedServer
let hub: Hub
let ada: Client
let bob: Client

beforeAll(async () => {
  browser = await openBrowser()
  issuer = await Issuer.start()
  server = await GuardedServer.start(issuer)
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ada = await hub.user('ada')
  bob = await hub.user('bob')
  await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, visibility: 'public' })
  await until(async () => (await statusOf(ada, 'notes')).state === 'offline', { what: 'the server to be offline' })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await issuer?.stop()
}, 120_000)

/** Fills in the forms of the issuer. */
async function agree(page: Page, person: string): Promise<void> {
  await page.locator('input[name="login"]').fill(person)
  await page.locator('input[name="password"]').fill('any')
  await page.locator('button[type="submit"]').click()
  await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: 'attached' })
  await page.locator('button[type="submit"]').click()
}

test('the owner signs in from the page of the server, and each user for themselves', async () => {
  const tab = await openTab(browser, hub, ada)
  const { page } = tab
  tab.elsewhere = issuer.url
  await page.goto(`${hub.url}/servers/notes`)
  await page.getByText('it wants you to sign in').first().waitFor()
  await page.getByRole('link', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in at “notes”' }).waitFor()
  expect(await page.getByLabel('Each user, with their own account there').isChecked()).toBe(true)
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await agree(page, 'ada-there')
  await page.getByRole('heading', { name: 'You are signed in', exact: true }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  expect(await axe(tab)).toEqual([])
  await page.getByRole('link', { name: 'To the server' }).click()
  await page.getByRole('heading', { name: 'notes', exact: true }).waitFor()
  await online(ada, ['notes'])
  expect(await callText(await ada.mcp('/mcp/notes'), 'whoami')).toBe('ada-there')
  await tab.close()
})

test('what another user has begun is not finished', async () => {
  const { authorizeUrl } = await ada.ok('POST', '/api/servers/notes/connect', {})
  const back = await signInAt(authorizeUrl, 'mallory')
  const tab = await openTab(browser, hub, bob)
  const { page } = tab
  await page.goto(back)
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
  expect(await page.getByText('flow_foreign').isVisible()).toBe(true)
  expect((await bob.ok('GET', '/api/connections')).items).toEqual([])
  await page.goto(`${hub.url}/connect/nothing`)
  await page.getByRole('heading', { name: 'You cannot sign in here' }).waitFor()
  await tab.close()
})

test('the sign-ins are listed in Chinese and on a phone, and ended', async () => {
  const { id } = await ada.ok('GET', '/api/servers/notes')
  const chinese = await openTab(browser, hub, bob, { language: 'zh', theme: 'dark' })
  await chinese.page.goto(`${hub.url}/connect/${id}`)
  await chinese.page.getByRole('heading', { name: '在“notes”登录' }).waitFor()
  expect(await chinese.page.getByRole('radio').count()).toBe(0)
  expect(await axe(chinese)).toEqual([])
  await chinese.close()
  const tab = await openTab(browser, hub, ada, PHONE)
  const { page } = tab
  await page.goto(`${hub.url}/connections`)
  await page.getByRole('button', { name: 'Sign out at ada~notes' }).waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByText('The browser did not come back here').click()
  const { authorizeUrl } = await ada.ok('POST', '/api/servers/notes/connect', {})
  await page.getByLabel('Address at which the browser ended').fill(await signInAt(authorizeUrl, 'ada-again'))
  await page.getByRole('button', { name: 'Finish the sign-in' }).click()
  await page.getByText('You are signed in at ada~notes').waitFor()
  await until(async () => (await callText(await ada.mcp('/mcp/notes'), 'whoami')) === 'ada-again', {
    what: 'calls with the new sign-in',
  })
  await page.getByRole('button', { name: 'Sign out at ada~notes' }).click()
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.getByText('You are signed out at ada~notes').waitFor()
  expect((await ada.ok('GET', '/api/connections')).items).toEqual([])
  await tab.close()
})
