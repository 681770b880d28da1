/** A person signs in at a server by a code: the page shows it, waits, and says how it ended. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { ScriptedIssuer } from '../plugins/oauth-client/scripted-issuer.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { enterCode, GuardedServer, Issuer } from '../support/issuer.ts'
import { callText, online } from '../support/servers.ts'
import { axe, openBrowser, openTab, PHONE, VIEWS } from './support/console.ts'

/** A page for codes that is not the issuer's. */
const ELSEWHERE = 'https://login.elsewhere.example/device'

let browser: Browser
let issuer: Issuer
let scripted: ScriptedIssuer
let server: GuardedServer
let hub: Hub
let ada: Client
let id: string
let scriptedId: string

beforeAll(async () => {
  browser = await openBrowser()
  issuer = await Issuer.start()
  scripted = new ScriptedIssuer()
  scripted.metadata = { device_authorization_endpoint: `${scripted.url}/device`, resource: `${scripted.url}/mcp` }
  server = await GuardedServer.start(issuer)
  hub = await startHub({ env: LOOPBACK })
  await hub.setup()
  ada = await hub.user('ada')
  const oauth = { grant: 'device' }
  id = (await ada.ok('POST', '/api/servers', { name: 'notes', url: server.url, oauth })).id
  scriptedId = (await ada.ok('POST', '/api/servers', { name: 'scripted', url: `${scripted.url}/mcp`, oauth })).id
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await server?.stop()
  await Promise.all([issuer?.stop(), scripted?.stop()])
}, 120_000)

test('the code is entered elsewhere, and the page goes on by itself, also after it was opened again', async () => {
  const tab = await openTab(browser, hub, ada)
  const { page } = tab
  await page.goto(`${hub.url}/connect/${id}`)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Enter the code for “notes”' }).waitFor()
  const code = (await page.locator('.keytext').textContent()) ?? ''
  expect(code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/)
  expect(await axe(tab)).toEqual([])
  const link = page.getByRole('link', { name: `Open ${new URL(issuer.url).host}` })
  expect(await link.getAttribute('href')).toBe(`${issuer.url}/device?user_code=${code}`)
  await page.reload()
  await page.getByText(code, { exact: true }).waitFor()
  await page.getByText('Waiting for the issuer.').waitFor()
  await enterCode(`${issuer.url}/device`, code, 'ada-there')
  await page.getByText('You are signed in there.').waitFor()
  expect(new URL(page.url()).search).toBe('')
  await online(ada, ['notes'])
  expect(await callText(await ada.mcp('/mcp/notes'), 'whoami')).toBe('ada-there')
  await tab.close()
})

test('a refusal is shown, and another code replaces the one before', async () => {
  const tab = await openTab(browser, hub, ada, PHONE)
  const { page } = tab
  await page.goto(`${hub.url}/connect/${id}`)
  await page.getByRole('button', { name: 'Sign in again' }).click()
  const shown = page.locator('.keytext')
  const first = (await shown.textContent()) ?? ''
  await page.getByRole('button', { name: 'Another code' }).click()
  await page.getByText(first, { exact: true }).waitFor({ state: 'detached' })
  const second = (await shown.textContent()) ?? ''
  expect(second).not.toBe(first)
  await enterCode(`${issuer.url}/device`, second, 'ada-there', true)
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
  await page.getByText('sign_in_denied').waitFor()
  expect(await axe(tab)).toEqual([])
  await page.getByRole('button', { name: 'Begin again' }).click()
  await page.getByRole('heading', { name: 'Enter the code for “notes”' }).waitFor()
  await tab.close()
})

test.each([...VIEWS])('%s: the code and its end are read without scrolling sideways', async (_, view) => {
  scripted.device = () =>
    Response.json(scripted.deviceCode({ user_code: `${'WDJB-MJHT-'.repeat(6)}NRST`, verification_uri: ELSEWHERE }))
  scripted.token = () => Response.json({ error: 'authorization_pending' }, { status: 400 })
  const { flow } = await ada.ok('POST', '/api/servers/scripted/connect', {})
  const tab = await openTab(browser, hub, ada, view)
  const { page } = tab
  await page.goto(`${hub.url}/connect/${scriptedId}?flow=${flow}`)
  await page.locator('.keytext').waitFor()
  await page.locator('.callout.warn').getByText('login.elsewhere.example').waitFor()
  expect(await axe(tab)).toEqual([])
  const sideways = () =>
    page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect(await sideways()).toBe(0)
  scripted.token = () => Response.json({ error: 'expired_token' }, { status: 400 })
  await page.getByText('flow_expired').waitFor()
  const title = view.language === 'zh' ? '未及时输入代码' : 'was not entered while it was valid'
  await page.getByText(title).first().waitFor()
  expect(await sideways()).toBe(0)
  await tab.close()
})
