/** A person signs in with passkeys of Chromium’s own device, and finds the ways in where passwords open nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { PROXY } from '../plugins/sign-in/app.ts'
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
  await browser?.close()
  await hub?.stop()
}, 120_000)

/** The hub by a name, as passkeys want it. */
const named = () => ({ url: hub.url.replace('127.0.0.1', 'localhost') })

async function addDevice(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  await session.send('WebAuthn.addVirtualAuthenticator', { options })
}

async function enter(page: Page, name: string): Promise<void> {
  await page.getByLabel('User', { exact: true }).fill(name)
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

test('a person sets a passkey, signs in with it alone and after the password, and removes it', async () => {
  await hub.user('ada')
  const tab = await openTab(browser, named(), undefined, PHONE)
  const { page } = tab
  await addDevice(page)
  await page.goto(`${named().url}/settings/factors`)
  await enter(page, 'ada')
  const away: string[] = []
  await page.exposeFunction('noteAway', (text: string) => away.push(text))
  await page.evaluate(() => {
    const note = (globalThis as unknown as { noteAway(text: string): void }).noteAway
    new MutationObserver(() => {
      const text = document.body.textContent
      if (/does not answer|retrying in/.test(text)) note(text.slice(0, 80))
    }).observe(document.body, { childList: true, subtree: true, characterData: true })
  })
  const streamAgain = page.waitForResponse(answer => answer.url().includes('/api/stream') && answer.ok())
  await page.getByRole('button', { name: 'Set a passkey' }).click()
  await page.getByText('Store these now').waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'I have stored them' }).click()
  await page.getByText('10 codes are left.').waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Rename Passkey' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Laptop')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Laptop').waitFor()
  // The hub has ended the stream with the old session: the console goes on with the new one, and says nothing of it.
  await streamAgain
  expect(away).toEqual([])

  const signOut = async () => {
    await page.goto(`${named().url}/settings/profile`)
    await page.getByRole('button', { name: 'Sign out' }).first().click()
  }
  await signOut()
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
  await signOut()
  await enter(page, 'ada')
  await page.getByText('Unlock the passkey').waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Use a passkey' }).click()
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
  await page.goto(`${named().url}/settings/factors`)
  await page.getByRole('button', { name: 'Remove Laptop' }).click()
  await page.getByRole('button', { name: 'Remove', exact: true }).last().click()
  await page.getByText('Laptop is removed').waitFor()
  await signOut()
  await enter(page, 'ada')
  await page.getByRole('heading', { name: 'Sign-ins' }).waitFor()
  await tab.close()
}, 120_000)

test('at an IP address the settings say why there are no passkeys', async () => {
  const tab = await openTab(browser, hub, await hub.user('bo'), { language: 'zh', theme: 'dark' })
  const { page } = tab
  await page.goto(`${hub.url}/settings/factors`)
  await page.getByText('身份验证器应用在任何地址都可用').waitFor()
  expect(await page.getByRole('button', { name: '设置通行密钥' }).count()).toBe(0)
  expect(await axe(tab)).toEqual([])
  await tab.close()
}, 120_000)

test('where passwords open nothing, the page shows the ways in, and administrators keep their password', async () => {
  await admin.ok('PATCH', '/api/admin/plugins/sign-in', { config: { passwords: 'off' } })
  const chinese = await openTab(browser, named(), undefined, { ...PHONE, language: 'zh', theme: 'dark' })
  await chinese.page.goto(named().url)
  await chinese.page.getByRole('button', { name: '使用通行密钥登录' }).waitFor()
  expect(await axe(chinese)).toEqual([])
  await chinese.close()
  const tab = await openTab(browser, named())
  const { page } = tab
  await page.goto(named().url)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
  expect(await page.getByLabel('Password', { exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'Sign in as an administrator' }).click()
  expect(await axe(tab)).toEqual([])
  await enter(page, 'bo')
  await page.getByText('Passwords open nothing for users of this hub').waitFor()
  await enter(page, 'admin')
  await page.getByRole('link', { name: 'Servers' }).first().waitFor()
  await tab.close()
}, 120_000)
