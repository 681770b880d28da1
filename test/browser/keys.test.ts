/** The page of API keys in a real browser: a key is made, shown once, used by a client, and revoked. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ settings: { mcpServers: { echo: stdioFixture('echo') } } })
  admin = await hub.setup()
  await online(admin, ['echo'])
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await hub?.stop()
}, 120_000)

test('a key is shown once, opens the hub for a client, and opens nothing once it is revoked', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/keys')
  await page.click('text=Make key')
  await page.fill('#key-label', 'laptop')
  await page.click('button[form=key-form]')
  const secret = (await page.textContent('.keytext')) ?? ''
  expect(secret).toStartWith('pb_')
  const client = await admin.mcp('/mcp/echo', { credential: secret })
  expect(JSON.stringify(await client.callTool({ name: 'echo', arguments: { text: 'by key' } }))).toContain('by key')

  await page.click('text=I have stored it')
  await page.waitForSelector('.keytext', { state: 'detached' })
  await page.reload()
  await page.waitForSelector('td:has-text("laptop")')
  await page.waitForSelector(`text=pb_…${secret.slice(-4)}`)
  expect(await page.content()).not.toContain(secret)

  await page.click('button[aria-label="Revoke laptop"]')
  const confirm = page.locator('wa-dialog[open] button:has-text("Revoke key")')
  expect(await confirm.isDisabled()).toBe(true)
  await page.fill('wa-dialog[open] input', 'laptop')
  await confirm.click()
  await page.waitForSelector('td:has-text("laptop")', { state: 'detached' })
  await until(
    () =>
      client
        .callTool({ name: 'echo', arguments: { text: 'x' } })
        .then(() => false)
        .catch(() => true),
    { what: 'the end of the session' },
  )
  await expect(admin.mcp('/mcp/echo', { credential: secret })).rejects.toThrow()
  await tab.close()
}, 120_000)

test.each(VIEWS)(
  'axe finds nothing and nothing scrolls sideways: %s',
  async (_, view) => {
    await admin.mcpKey()
    const tab = await openTab(browser, hub, admin, { ...view, withoutPolicy: true })
    for (const path of ['/keys', '/keys?new=1']) {
      await tab.open(path)
      await tab.page.waitForSelector(path === '/keys' ? 'td' : '#key-label')
      expect([path, (await axe(tab)).filter(one => !one.startsWith('region: '))]).toEqual([path, []])
      await tab.fitsSideways()
    }
    await tab.close()
  },
  120_000,
)
