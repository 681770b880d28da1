/** A person sets a second factor, signs in with it, links an account, and must have a factor where it is required. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { App, PROXY, setApp } from '../plugins/sign-in/app.ts'
import { OidcIssuer, signInAt } from '../plugins/sign-in/oidc.ts'
import { type Client, type Hub, PASSWORD, startHub } from '../support/hub.ts'
import { axe, openBrowser, openTab, PHONE } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ env: PROXY })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

async function enter(page: Page, name: string): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(name)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Lets users sign in at the issuer. `provision`: whether a sign-in there needs an account here, or makes one. */
async function useProvider(issuer: OidcIssuer, provision: 'link' | 'create'): Promise<void> {
  const provider = { id: 'company', kind: 'oidc', label: 'Company', issuer: issuer.url, clientId: 'hub' }
  const providers = [{ ...provider, clientSecret: 'secret-of-the-hub-1', provision }]
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { providers } })
}

/** Signs in at the issuer for a page, whose tab refuses requests to another host, and lets the browser come back. */
async function answerAs(page: Page, subject: string): Promise<void> {
  await page.route('**/api/auth/providers/company/start', async route => {
    const { url } = await (await route.fetch()).json()
    await route.fulfill({ json: { url: await signInAt(url, subject) } })
  })
}

/** Sets the app of a page that shows its key. */
async function setOnPage(page: Page): Promise<{ app: App; codes: string[] }> {
  const key = await page.locator('.keytext').first().textContent()
  const app = new App(String(key).replaceAll(/\s/g, ''))
  await page.getByLabel('Code that the app shows').fill(await app.code())
  await page.getByRole('button', { name: 'Set the app' }).click()
  const codes = String(await page.locator('.recovery').textContent())
    .trim()
    .split('\n')
  await page.getByRole('button', { name: 'I have stored them' }).click()
  return { app, codes }
}

test('a person sets an app in the settings, and signs in with its code', async () => {
  await hub.user('ada')
  const tab = await openTab(browser, hub)
  const { page } = tab
  await page.goto(`${hub.url}/settings/factors`)
  await enter(page, 'ada')
  await page.getByRole('link', { name: 'Sign-in and factors' }).waitFor()
  await page.getByRole('button', { name: 'Set an authenticator app' }).click()
  await page.getByText('Scan this with the app').waitFor()
  expect(await axe(tab)).toEqual([])
  const { app, codes } = await setOnPage(page)
  expect(codes).toHaveLength(10)
  await page.getByText('10 codes are left.').waitFor()
  expect(await axe(tab)).toEqual([])
  await page.goto(`${hub.url}/settings/profile`)
  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await enter(page, 'ada')
  await page.getByLabel('Code of your app').fill(app.wrong())
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('alert').waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByLabel('Code of your app').fill(await app.code())
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await enter(page, 'ada')
  await page.getByRole('button', { name: 'Use a recovery code' }).click()
  await page.getByLabel('Recovery code').fill(codes[0] as string)
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
  await tab.close()
}, 120_000)

test('a reset link asks for the code', async () => {
  const bo = await setApp(hub, await hub.user('bo'))
  const { url } = await admin.ok('POST', '/api/admin/users/bo/reset-link')
  const tab = await openTab(browser, hub, undefined, PHONE)
  const { page } = tab
  await page.goto(url)
  await page.getByLabel('New password', { exact: true }).fill('another sentence of his 9')
  await page.getByRole('button', { name: 'Set password and sign in' }).click()
  await page.getByLabel('Code of your app').fill(await bo.app.code())
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.waitForURL(`${hub.url}/`)
  await tab.close()
}, 120_000)

test('an administrator takes away the factors of somebody, and proves first who it is', async () => {
  const cy = await setApp(hub, await hub.user('cy'))
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  // The hub answers so for a sign-in that is older than ten minutes.
  const refusal = { status: 403, json: { code: 'reauth_required', title: 'A new proof', status: 403 } }
  await page.route('**/api/admin/users/cy/factors', route => route.fulfill(refusal), { times: 1 })
  await page.goto(`${hub.url}/admin/users`)
  await page.getByRole('button', { name: 'Actions for cy' }).click()
  await page.getByRole('menuitem', { name: 'Take away second factors' }).click()
  await page.getByRole('button', { name: 'Take away', exact: true }).click()
  await page.getByRole('heading', { name: 'Is it still you?' }).waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByText('cy has no second factor now').waitFor()
  expect((await cy.person.request('GET', '/api/auth/me')).status).toBe(401)
  await tab.close()
}, 120_000)

test('whom a proxy has signed in continues as that user', async () => {
  await hub.user('eve')
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { forwarded: { user: 'X-User' } } })
  const tab = await openTab(browser, hub, undefined, { theme: 'dark' })
  const { page } = tab
  await page.setExtraHTTPHeaders({ 'X-User': 'eve' })
  await page.goto(`${hub.url}/settings/profile`)
  await page.getByRole('button', { name: 'Continue as eve' }).waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Continue as eve' }).click()
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
  await tab.close()
}, 120_000)

test('a person links an account at a provider, and signs in with it', async () => {
  const issuer = await OidcIssuer.start(`${hub.url}/signin/callback`)
  try {
    await useProvider(issuer, 'link')
    const tab = await openTab(browser, hub, await hub.user('ivy'))
    const { page } = tab
    await answerAs(page, 'ivy-c')
    await page.goto(`${hub.url}/settings/factors`)
    await page.getByRole('button', { name: 'Link Company' }).click()
    await page.getByText('ivy-c@company.example').waitFor()
    expect(page.url()).toBe(`${hub.url}/settings/factors`)
    expect(await axe(tab)).toEqual([])
    await page.goto(`${hub.url}/settings/profile`)
    await page.getByRole('button', { name: 'Sign out' }).first().click()
    await page.getByRole('button', { name: 'Sign in with Company' }).waitFor()
    expect(await axe(tab)).toEqual([])
    await page.getByRole('button', { name: 'Sign in with Company' }).click()
    await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
    await page.goto(`${hub.url}/signin/callback?code=x&state=x`)
    await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
    expect(page.url()).toBe(`${hub.url}/signin/callback`)
    await tab.close()
  } finally {
    await issuer.stop()
  }
}, 120_000)

test('a sign-in at a provider returns to the whole address, with the token of an invitation', async () => {
  const issuer = await OidcIssuer.start(`${hub.url}/signin/callback`)
  try {
    await useProvider(issuer, 'create')
    const tab = await openTab(browser, hub)
    const { page } = tab
    await answerAs(page, 'jan-c')
    await page.goto(`${hub.url}/servers?scope=shared`)
    await page.getByRole('button', { name: 'Sign in with Company' }).click()
    await page.getByText('Nothing is shared with you').waitFor()
    expect(page.url()).toBe(`${hub.url}/servers?scope=shared`)
    await admin.ok('POST', '/api/servers', { name: 'common', url: 'https://mcp.example/mcp', enabled: false })
    const things = [{ kind: 'server', ref: 'common' }]
    const { url } = await admin.ok('POST', '/api/invitations', { things, role: 'use' })
    await page.goto(url)
    // The token is in the fragment, which neither the provider nor the hub sees, and leaves the address at once.
    await page.getByRole('heading', { name: 'admin shares with you' }).waitFor()
    await page.getByRole('button', { name: 'Sign in as somebody else' }).click()
    await page.getByRole('button', { name: 'Sign in with Company' }).click()
    await page.getByRole('heading', { name: 'admin shares with you' }).waitFor()
    expect(page.url()).toBe(`${hub.url}/invite`)
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('link', { name: 'Open server common' }).waitFor()
    await tab.close()
  } finally {
    await issuer.stop()
  }
}, 120_000)

test('where a second factor is required, the console shows nothing else until it is set', async () => {
  const dot = await hub.user('dot')
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { requireSecondFactor: 'all' } })
  const chinese = await openTab(browser, hub, dot, { language: 'zh', theme: 'dark' })
  await chinese.page.goto(`${hub.url}/servers`)
  await chinese.page.getByText('此 Hub 要求使用第二验证方式登录').waitFor()
  expect(await axe(chinese)).toEqual([])
  await chinese.close()
  const tab = await openTab(browser, hub, dot)
  const { page } = tab
  await page.goto(`${hub.url}/servers`)
  await page.getByText('Users of this hub sign in with a second factor.').waitFor()
  await page.getByRole('button', { name: 'Set an authenticator app' }).click()
  await setOnPage(page)
  await page.getByRole('heading', { name: 'Servers', exact: true }).waitFor()
  await tab.close()
}, 120_000)
