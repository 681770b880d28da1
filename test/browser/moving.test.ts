/** An export is read in the console: its plan names shares, quotas and rules with what they ask for, and it is imported and undone. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { type Hub, startHub } from '../support/hub.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

setDefaultTimeout(120_000)

/** A folder for pictures of the page, if they are wanted. */
const PICTURES = process.env.MOVING_PICTURES
const FAR = { transport: 'streamable-http', url: 'https://far.never.example/mcp', enabled: false }
const DOCUMENT = {
  ...{ format: 'patchbay-export', version: 1, owner: 'bob', servers: { notes: FAR } },
  shares: {
    servers: {
      notes: [
        { subject: 'user:cleo', role: 'see' },
        { subject: 'user:Gone', role: 'use' },
      ],
    },
  },
  quota: { servers: { notes: { perDay: 100 } } },
  teams: { crew: { members: ['cleo'] } },
}

let browser: Browser
let hub: Hub
let bob: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub()
  await hub.setup()
  bob = await hub.user('bob')
  await hub.user('cleo')
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

test('the plan names shares and quotas, asks who is meant, and is imported and undone', async () => {
  const tab = await openTab(browser, hub, bob)
  const { page } = tab
  await tab.open('/settings/moving')
  const file = { name: 'mine.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(DOCUMENT)) }
  await page.setInputFiles('#moving-file', file)
  await page.getByRole('button', { name: 'Show the plan' }).click()
  const shares = page.locator('li', { hasText: 'Shares of the server notes' })
  await shares.getByText('user:cleo (see)').waitFor()
  await shares.getByText('user:Gone is not here. Have it made, or enter the name of this hub below.').waitFor()
  await page.locator('li', { hasText: 'Quota of the server notes' }).getByText('{"perDay":100}').waitFor()
  await page.locator('li', { hasText: 'Team crew' }).getByText('Only administrators import it').waitFor()
  for (const [name, view] of VIEWS) {
    const other = await openTab(browser, hub, bob, view)
    await other.open('/settings/moving')
    await other.page.setInputFiles('#moving-file', file)
    await other.page.locator('pb-moving .btn.pri').last().click()
    await other.page.locator('pb-moving .entries li').nth(3).waitFor()
    expect(await axe(other)).toEqual([])
    const path = `${PICTURES}/moving-${name.replaceAll(', ', '-')}.png`
    if (PICTURES !== undefined) await other.page.screenshot({ path, fullPage: true })
    await other.close()
  }
  await shares.getByLabel('User of this hub for Gone').fill('bob')
  await page.locator('h2', { hasText: 'Import' }).first().click()
  await page.getByRole('button', { name: 'Show the plan' }).click()
  await shares.getByText('user:bob owns it and needs no share.').waitFor()
  await page.getByRole('button', { name: 'Import 3 things' }).click()
  await page.locator('pb-moving').getByText('3 things', { exact: true }).waitFor()
  expect((await bob.ok('GET', '/api/servers/notes/shares')).items).toMatchObject([
    { subject: 'user:cleo', role: 'see' },
  ])
  expect((await bob.ok('GET', '/api/servers/notes/quota')).quota).toEqual({ perDay: 100 })
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await page.locator('wa-dialog').getByRole('button', { name: 'Undo' }).click()
  await page.getByText('No imports').waitFor()
  expect((await bob.request('GET', '/api/servers/notes')).status).toBe(404)
  await tab.close()
})

test('an export is downloaded', async () => {
  const tab = await openTab(browser, hub, bob)
  await tab.open('/settings/moving')
  const begun = tab.page.waitForEvent('download')
  await tab.page.getByRole('button', { name: 'Download the export' }).click()
  expect((await begun).suggestedFilename()).toBe('patchbay-export.json')
  await tab.close()
})
