/** A user makes a content rule for a server of their own in the console, sees what it finds, and lets it mask. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { callText, online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

let hub: Hub
let admin: Client
let browser: Browser

beforeAll(async () => {
  const mirror = { command: process.execPath, args: [join(import.meta.dir, '../plugins/guards/fixtures/mirror.ts')] }
  hub = await startHub({ settings: { mcpServers: { files: { ...mirror, session: 'shared' } } } })
  admin = await hub.setup()
  browser = await openBrowser()
  await online(admin, ['files'])
}, 120_000)
afterAll(() => hub?.stop(), 60_000)

test('a rule is made, finds something, is changed to mask, and is deleted', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.go('/servers/admin~files', '.minis')
  await page.getByRole('button', { name: 'More actions' }).first().click()
  await page.getByRole('menuitem', { name: 'New content rule' }).click()
  await page.locator('#guard-id').fill('no-keys')
  expect(await page.locator('#guard-place').evaluate(one => (one as HTMLSelectElement).selectedOptions[0]?.text)).toBe(
    'Server files',
  )
  await page.getByRole('button', { name: 'Save' }).click()
  await page.locator('td .nm', { hasText: 'no-keys' }).waitFor()
  const client = await admin.mcp('/mcp/files')
  const text = `sk_live_${'aB3dE5fG7hJ9kL1mN2pQ'}4`
  expect(await callText(client, 'mirror', { text })).toBe(text)
  await page.getByRole('button', { name: 'Samples of no-keys' }).click()
  await page.locator('li code', { hasText: 'stripe_key' }).first().waitFor()
  expect(await page.content()).not.toContain(text)
  expect(await axe(tab)).toEqual([])
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Edit no-keys' }).click()
  await page.locator('input[name=then][value=mask]').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await until(async () => (await callText(client, 'mirror', { text })) === '[masked:stripe_key]')
  await page.getByRole('button', { name: 'Delete no-keys' }).click()
  await page.getByRole('button', { name: 'Delete rule' }).click()
  await page.locator('.empty').waitFor()
  expect((await admin.ok('GET', '/api/guards')).items).toEqual([])
  await tab.close()
}, 180_000)

test.each(VIEWS)(
  'the list fits, without violations: %s',
  async (_, view) => {
    const rules = [
      { id: 'keys', match: { secrets: true } },
      { id: 'hosts', on: 'arguments', match: { domains: ['*.example.com'] }, then: 'refuse' },
    ]
    await admin.ok('PUT', '/api/servers/files/guards', { rules })
    const tab = await openTab(browser, hub, admin, view)
    await tab.go('/guards', 'td .nm')
    expect(await axe(tab)).toEqual([])
    await tab.fitsSideways('asPhone')
    await tab.close()
  },
  180_000,
)
